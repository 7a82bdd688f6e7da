#!/bin/sh
# Checks lib/join.sh and says what is wrong.
. ./lib/join.sh

failed=0
expect() {
    if [ "$1" = "$2" ]; then
        printf 'ok     "%s"\n' "$2"
    else
        printf 'WRONG  "%s" should be "%s"\n' "$1" "$2"
        failed=1
    fi
}

expect "$(join , a b c)" 'a,b,c'
expect "$(join ' ' to be or not)" 'to be or not'
expect "$(join - alone)" 'alone'

if [ "$failed" -ne 0 ]; then
    echo 'The check failed.'
    exit 1
fi
echo 'The check passed.'
