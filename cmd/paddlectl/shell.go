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
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%_-+=:,./"
	isPlain := func(r rune) bool { return strings.ContainsRune(plain, r) }
	switch {
	case s != "" && strings.TrimFunc(s, isPlain) == "":
		return s
	case runtime.GOOS == "windows":
		return `"` + s + `"`
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
