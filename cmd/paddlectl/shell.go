package main

import (
	"runtime"
	"strings"
)

// shellLine writes a command so that it can be pasted into a shell.
func shellLine(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = shellWord(a)
	}
	return strings.Join(words, " ")
}

// shellWord quotes s if a shell would not take it as it is.
func shellWord(s string) string {
	if runtime.GOOS == "windows" && isQuoted(posixWord(s)) {
		return `"` + s + `"`
	}
	return posixWord(s)
}

func isQuoted(word string) bool { return word[0] == '\'' }

// posixWord is shellWord for the shells of Unix.
func posixWord(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%_-+=:,./"
	isPlain := func(r rune) bool { return strings.ContainsRune(plain, r) }
	if s != "" && strings.TrimFunc(s, isPlain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
