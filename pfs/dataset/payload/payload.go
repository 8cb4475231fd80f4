// Package payload reads the payloads of records, for commands that show them or write
// them in another form. It gives each value to a convert.Encoder as it meets it and
// builds none, so that memory does not grow with what a payload says of itself.
package payload

import (
	"bytes"
	"encoding/json"
	"errors"
)

// ErrMalformed is what is wrong with a payload that is not what it is taken for.
var ErrMalformed = errors.New("malformed payload")

// The encodings, by the names of package convert.
const (
	Msgpack = "msgpack"
	Pickle  = "pickle"
	JSON    = "json"
	Raw     = "raw"
)

// Guess returns the encoding that a record has, if that is one of msgpack, pickle and
// json, as convert writes them.
//
// A pickle has two bytes or more and begins with 0x80 or, before protocol 2, with a
// byte below it; as msgpack such a byte is a whole value.
func Guess(record []byte) string {
	switch {
	case len(record) > 1 && json.Valid(record):
		return JSON
	case len(record) > 1 && record[0] <= 0x80 && bytes.HasSuffix(record, []byte{'.'}):
		return Pickle
	}
	return Msgpack
}
