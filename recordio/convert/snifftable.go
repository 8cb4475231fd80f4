package convert

import "bytes"

// headLines returns the non-empty lines of head. The last line, which may be incomplete, is omitted
// if there are others.
func headLines(head []byte) [][]byte {
	lines := bytes.Split(bytes.TrimSuffix(head, newline), newline)
	if len(head) >= SniffLen && len(lines) > 1 {
		lines = lines[:len(lines)-1]
	}
	kept := lines[:0]
	for _, line := range lines {
		if line = bytes.TrimRight(line, " \r"); len(line) > 0 {
			kept = append(kept, line)
		}
	}
	return kept
}

// looksLikeTable reports whether most of the first lines have the same number of commas, tabs,
// semicolons or bars.
func looksLikeTable(head []byte) bool {
	lines := headLines(head)
	for _, comma := range []byte(",\t;|") {
		if mostAlike(lines, func(line []byte) int { return separators(line, comma) }) {
			return true
		}
	}
	return false
}

// looksLikeNumbers reports whether most of the first lines have the same number of numbers
// separated by blanks.
func looksLikeNumbers(head []byte) bool { return mostAlike(headLines(head), numbersOf) }

// mostAlike reports whether count is the same, and not 0, for at least two in three of the lines.
func mostAlike(lines [][]byte, count func(line []byte) int) bool {
	times := map[int]int{}
	for _, line := range lines {
		times[count(line)]++
	}
	for n, k := range times {
		if n > 0 && 3*k >= 2*len(lines) {
			return true
		}
	}
	return false
}

// separators counts the occurrences of comma in a line outside of quotes.
func separators(line []byte, comma byte) (n int) {
	quoted, start := false, true // inside of quotes; at the start of a cell
	for _, c := range bytes.TrimLeft(line, " ") {
		switch {
		case c == '"' && (quoted || start):
			quoted = !quoted
		case c == comma && !quoted:
			n++
		}
		start = c == comma || c == '"' && start
	}
	return n
}

// numbersOf counts the numbers of a line that consists of at least two numbers.
func numbersOf(line []byte) (n int) {
	for {
		var word []byte
		if word, line = cutBlank(line); len(word) == 0 {
			break
		}
		if _, ok := parseFloat(word); !ok {
			return 0
		}
		n++
	}
	if n < 2 {
		return 0
	}
	return n
}

// looksLikeLIBSVM reports whether every line is a label with features, as in no other format.
func looksLikeLIBSVM(head []byte) bool {
	lines := headLines(head)
	labelled := false
	for _, line := range lines {
		line, _, _ = bytes.Cut(line, []byte("#"))
		label, features := cutBlank(line)
		if len(label) > 0 && unlabelled(line, label) {
			features = line
		} else if labelled = true; !areLabels(label) {
			return false
		}
		pair, _ := cutBlank(features)
		index, value, ok := bytes.Cut(pair, []byte(":"))
		_, isInt := parseInt(index)
		_, isFloat := parseFloat(value)
		if !ok || !isFloat || !isInt && string(index) != "qid" {
			return false
		}
	}
	return labelled
}

// areLabels reports whether text is a number, or several with commas between them.
func areLabels(text []byte) bool {
	for label := range bytes.SplitSeq(text, []byte(",")) {
		if _, ok := parseFloat(bytes.TrimPrefix(label, []byte("+"))); !ok {
			return false
		}
	}
	return true
}
