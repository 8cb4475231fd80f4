package convert

import (
	"fmt"
	"strings"
)

// described is a Decoder that knows the columns of its input from the start.
type described interface{ columns() []Column }

// nullType is the type of a column without values.
const nullType = "null"

// sameColumns requires that an input has the columns of the inputs before: the same names in the
// same order, and the same types. An unknown type, as of a column or of lists that are all empty,
// fits any other and becomes known with the next input that has it. Lengths of arrays may differ.
func sameColumns(first, now []Column) error {
	for i := range max(len(first), len(now)) {
		switch {
		case i >= len(now):
			return misfitting("column %q of the first input is missing", first[i].Name)
		case i >= len(first):
			return misfitting("column %q is not in the first input", now[i].Name)
		case first[i].Name != now[i].Name:
			return misfitting("column %d is %q, that of the first input %q", i+1, now[i].Name, first[i].Name)
		case isOpen(first[i].Type):
			first[i].Type = now[i].Type
		case first[i].Type == now[i].Type, isOpen(now[i].Type):
		case sameArrays(&first[i].Type, now[i].Type):
		default:
			return misfitting("column %q is %.200s, in the inputs before %.200s", now[i].Name, now[i].Type, first[i].Type)
		}
	}
	return nil
}

// isOpen reports whether a type is unknown because there were no values.
func isOpen(typ string) bool { return strings.HasSuffix(strings.TrimRight(typ, ">"), nullType) }

// sameArrays reports whether two types are arrays of the same elements and the same number of axes.
// It puts "?" into first for lengths that differ.
func sameArrays(first *string, now string) bool {
	a, lengthsA, okA := cutShape(*first)
	b, lengthsB, okB := cutShape(now)
	if !okA || !okB || a != b || len(lengthsA) != len(lengthsB) {
		return false
	}
	for i := range lengthsA {
		if lengthsA[i] != lengthsB[i] {
			lengthsA[i] = "?"
		}
	}
	*first = a + "[" + strings.Join(lengthsA, ",") + "]"
	return true
}

// cutShape splits the shape off a type such as "float32[2,?]". It returns false if the type has
// none.
func cutShape(typ string) (element string, lengths []string, ok bool) {
	i := strings.LastIndexByte(typ, '[')
	if i < 0 || !strings.HasSuffix(typ, "]") || strings.Trim(typ[i+1:len(typ)-1], "0123456789,?") != "" {
		return "", nil, false
	}
	return typ[:i], strings.Split(typ[i+1:len(typ)-1], ","), true
}

func misfitting(format string, args ...any) error {
	return faultf(ErrUnsupported, "%s: the records would be of two kinds", fmt.Sprintf(format, args...))
}
