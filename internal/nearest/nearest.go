// Package nearest finds the known word that is nearest to a misspelled one.
package nearest

import "strings"

// Word returns the candidate that word most likely means: one that begins with it, or is a few
// typing errors away. "" means that there is none.
func Word(word string, candidates []string) string {
	best, least := "", min(max(1, len(word)/3), len(word)-1)+1
	for _, c := range candidates {
		d := distance(word, c)
		if len(word) > 2 && strings.HasPrefix(c, word) {
			d = min(d, 1)
		}
		if d < least {
			best, least = c, d
		}
	}
	return best
}

// distance counts the typing errors between a and b: extra, missing or wrong characters, or two
// swapped neighbours.
func distance(a, b string) int {
	s, t := []rune(a), []rune(b)
	var before []int // the row before the last
	last := make([]int, len(t)+1)
	for j := range last {
		last[j] = j
	}
	for i := range s {
		row := make([]int, len(t)+1)
		row[0] = i + 1
		for j := range t {
			wrong := 1
			if s[i] == t[j] {
				wrong = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+wrong)
			if i > 0 && j > 0 && s[i] == t[j-1] && s[i-1] == t[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(t)]
}
