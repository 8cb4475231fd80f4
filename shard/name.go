package shard

import (
	"regexp"
	"strconv"
	"strings"
)

// Of is the meaning of the number after -of- in names such as train-00003-of-00010.
type Of uint8

// The meanings.
const (
	OfAny   Of = iota // the number of the last file if a file has that number, else the number of files
	OfCount           // the number of files
	OfLast            // the number of the last file, counted from 0, as in the design of PaddlePaddle
)

// numbered is a name that contains a file number and a total.
type numbered struct {
	name  string
	stem  string // part before the file's number
	index int64
	width int // number of digits of index
	set   setKey
}

// setKey is what the files of one set have in common besides their stem.
type setKey struct {
	of     int64
	suffix string // part after that number
}

var (
	ofName    = regexp.MustCompile(`(?s)^(.*\D)?(\d{1,18})-of-(\d{1,18})(\D.*)?$`)
	pieceName = regexp.MustCompile(`(?s)^(.*\d-of-\d{1,18})-\d{1,18}(\.[^/]*)?$`)
	plainName = regexp.MustCompile(`(?s)^(.*\D)?\d{1,18}(\D.*)?$`)
)

// parseName returns false for a name without -of-, and for the name of a part of a file.
func parseName(name string) (numbered, bool) {
	m := ofName.FindStringSubmatch(name)
	if _, piece := wholeOf(name); m == nil || piece {
		return numbered{}, false
	}
	index, errIndex := strconv.ParseInt(m[2], 10, 64)
	of, errOf := strconv.ParseInt(m[3], 10, 64)
	return numbered{name: name, stem: m[1], index: index, width: len(m[2]), set: setKey{of, m[4]}},
		errIndex == nil && errOf == nil
}

// wholeOf returns the name of the file that name is a part of, such as train-00003-of-00010 for
// train-00003-of-00010-00001: the number after that of the set means that it is not another copy of
// the file.
func wholeOf(name string) (whole string, ok bool) {
	m := pieceName.FindStringSubmatch(name)
	if m == nil {
		return "", false
	}
	return m[1] + m[2], true
}

// sibling returns the name of file i of the set of n.
func (n numbered) sibling(i int64) string {
	number := strconv.FormatInt(i, 10)
	zeros := strings.Repeat("0", max(0, n.width-len(number)))
	return n.stem + zeros + number + n.name[len(n.stem)+n.width:]
}

// plainStem returns the part before the number in a name without -of-.
func plainStem(name string) (string, bool) {
	m := plainName.FindStringSubmatch(name)
	if m == nil {
		return "", false
	}
	return m[1], true
}
