package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Encode returns the text of m, after the checks that Read makes.
func Encode(m *Manifest) ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	text, err := encode(m)
	if err == nil && len(text) > MaxBytes {
		err = fmt.Errorf("%w: %d bytes, more than %d: make fewer shards", ErrMalformed, len(text), MaxBytes)
	}
	return text, err
}

func encode(m *Manifest) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(m)
	return b.Bytes(), err
}
