package app

import (
	"runtime"
	"strings"
)

// ShellLine writes a command so that it can be pasted into a shell.
func ShellLine(args []string) string {
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = ShellWord(a)
	}
	return strings.Join(words, " ")
}

// ShellWord quotes s if a shell would not take it as it is.
func ShellWord(s string) string {
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
