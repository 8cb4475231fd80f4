package cliargs

import (
	"fmt"
	"slices"

	"github.com/paddlecloud/pfs/internal/nearest"
)

// NearestCommand returns the command that word most likely means: one that has this name in other
// programs, or else the nearest, or "".
func NearestCommand(word string, commands []string) string {
	for _, c := range commands {
		if slices.Contains(foreignCommands[c], word) {
			return c
		}
	}
	return nearest.Word(word, commands)
}

// didYouMean returns the end of a message that suggests near, which may be "".
func didYouMean(prefix, near string) string {
	if near == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %s%s?", prefix, near)
}
