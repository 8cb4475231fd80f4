// Package payload reads the payloads of records, for commands that show or convert them. It passes
// each value to a convert.Encoder and builds none itself, so that a payload that claims to be large
// takes no memory.
package payload

import (
	"bytes"
	"encoding/json"
	"errors"
)

// ErrMalformed is the error for a payload that does not have its encoding.
var ErrMalformed = errors.New("malformed payload")

// The encodings, by their names in package convert.
const (
	Msgpack = "msgpack"
	Pickle  = "pickle"
	JSON    = "json"
	Raw     = "raw"
)

// Guess returns the encoding of a record that convert wrote as msgpack, pickle or json.
//
// A pickle has at least two bytes and begins with 0x80 or, before protocol 2, with a byte below it;
// as msgpack such a byte is a whole value.
func Guess(record []byte) string {
	switch {
	case len(record) > 1 && json.Valid(record):
		return JSON
	case len(record) > 1 && record[0] <= 0x80 && bytes.HasSuffix(record, []byte{'.'}):
		return Pickle
	}
	return Msgpack
}
