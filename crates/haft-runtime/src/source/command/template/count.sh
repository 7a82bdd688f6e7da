#!/usr/bin/env bash
# The input comes on stdin as one JSON object; what is printed to stdout is the result.
# A non-zero exit is a failure: the model sees the code and what was printed to stderr.
set -eu

# Prints the decoded value of the field "text". Where jq is installed, `jq -j .text` does the same.
read_text() {
  LC_ALL=C awk '
    { doc = doc gap $0; gap = "\n" }
    END {
      ORS = ""
      if (!match(doc, /"text"[ \t\r\n]*:[ \t\r\n]*"/)) fail()
      count = split(substr(doc, RSTART + RLENGTH), part, /\\/)
      plain = part[1]
      for (i = 2; ; i++) {
        stop = index(plain, "\"")
        if (stop) { print substr(plain, 1, stop - 1); exit 0 }
        print plain
        if (i > count) fail()
        plain = substr(part[i], 2)
        code = substr(part[i], 1, 1)
        if (code == "") { print "\\"; i++; plain = part[i] }
        else if (code == "n") print "\n"
        else if (code == "t") print "\t"
        else if (code == "r") print "\r"
        else if (code == "b") print "\b"
        else if (code == "f") print "\f"
        else if (code == "u") {
          point = hex(substr(part[i], 2, 4)); plain = substr(part[i], 6)
          if (point >= 55296 && point < 56320 && plain == "" && substr(part[i + 1], 1, 1) == "u") {
            i++
            point = 65536 + (point - 55296) * 1024 + hex(substr(part[i], 2, 4)) - 56320
            plain = substr(part[i], 6)
          }
          utf8(point)
        }
        else print code
      }
    }
    function fail() { print "the input has no whole \"text\"\n" > "/dev/stderr"; exit 1 }
    function hex(digits,   n, k) {
      for (k = 1; k <= 4; k++) n = n * 16 + index("0123456789abcdef", tolower(substr(digits, k, 1))) - 1
      return n
    }
    function utf8(n) {
      if (n < 128) printf "%c", n
      else if (n < 2048) printf "%c%c", 192 + int(n / 64), 128 + n % 64
      else if (n < 65536) printf "%c%c%c", 224 + int(n / 4096), 128 + int(n / 64) % 64, 128 + n % 64
      else printf "%c%c%c%c", 240 + int(n / 262144), 128 + int(n / 4096) % 64, 128 + int(n / 64) % 64, 128 + n % 64
    }'
}

# The x keeps line ends at the end of the text, which $( ) would drop.
text=$(read_text && printf x)
text=${text%x}

# From here on it is your tool: replace the counting by what yours does.
words=$(printf %s "$text" | LC_ALL=C awk '{ gsub(/[\r\f\v]/, " "); n += NF } END { print n + 0 }')
lines=$(printf %s "$text" | LC_ALL=C awk 'END { print NR }')
characters=$(printf %s "$text" | LC_ALL=C tr -d '\200-\277' | wc -c)

amount() {
  if [ "$1" -eq 1 ]; then echo "1 $2"; else echo "$(($1)) $2s"; fi
}

echo "$(amount "$words" word), $(amount "$lines" line), $(amount "$characters" character)"
