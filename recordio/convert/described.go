package convert

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// described is a Decoder that knows the columns of its input from the start.
type described interface{ columns() []Column }

// nullType is the type of a column without values, and decimalType that of a decimal, without
// precision and scale if they differ between inputs.
const (
	nullType    = "null"
	decimalType = "decimal"
)

// fieldText describes a field of a struct. A name that is not a word is quoted, as in JSON.
func fieldText(name, typ string) string {
	isWord := name != "" && strings.IndexFunc(name, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) < 0
	if !isWord {
		quoted, _ := json.Marshal(name) // of a string, without error
		name = string(quoted)
	}
	return name + " " + typ
}

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

// sameArrays reports whether two types are arrays of the same elements and the same number of axes,
// or the same elements. It puts "?" into first for lengths that differ.
func sameArrays(first *string, now string) bool {
	a, lengthsA := cutShape(*first)
	b, lengthsB := cutShape(now)
	element, ok := commonElement(a, b)
	if !ok || len(lengthsA) != len(lengthsB) {
		return false
	}
	for i := range lengthsA {
		if lengthsA[i] != lengthsB[i] {
			lengthsA[i] = "?"
		}
	}
	if *first = element; len(lengthsA) > 0 {
		*first += "[" + strings.Join(lengthsA, ",") + "]"
	}
	return true
}

// commonElement returns the type that holds elements of both types: the longer text or bytes of
// numpy, or a decimal.
func commonElement(a, b string) (string, bool) {
	if a == b {
		return a, true
	}
	if strings.HasPrefix(a, decimalType) && strings.HasPrefix(b, decimalType) {
		return decimalType, true
	}
	if a == "" || b == "" || a[0] != b[0] || a[0] != 'U' && a[0] != 'S' {
		return "", false
	}
	n, errA := strconv.Atoi(a[1:])
	m, errB := strconv.Atoi(b[1:])
	return a[:1] + strconv.Itoa(max(n, m)), errA == nil && errB == nil
}

// cutShape splits the shape, if any, off a type such as "float32[2,?]".
func cutShape(typ string) (element string, lengths []string) {
	i := strings.LastIndexByte(typ, '[')
	if i < 0 || !strings.HasSuffix(typ, "]") || strings.Trim(typ[i+1:len(typ)-1], "0123456789,?") != "" {
		return typ, nil
	}
	return typ[:i], strings.Split(typ[i+1:len(typ)-1], ",")
}

func misfitting(format string, args ...any) error {
	return faultf(ErrUnsupported, "%s: the records would be of two kinds", fmt.Sprintf(format, args...))
}
