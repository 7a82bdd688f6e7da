# Small helpers for text. Source this file.

# join SEPARATOR WORD...
# Prints the words with the separator between them.
join() {
    separator=$1
    shift
    joined=
    for word in "$@"; do
        joined="$joined$separator$word"
    done
    printf '%s\n' "$joined"
}
