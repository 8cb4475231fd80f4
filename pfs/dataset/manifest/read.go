package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Read reads a manifest. It returns ErrMalformed for anything else, or an error of r.
func Read(r io.Reader) (*Manifest, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrMalformed, MaxBytes)
	}
	return Decode(text)
}

// Decode parses the text of a manifest.
func Decode(text []byte) (*Manifest, error) {
	if err := checkVersion(text); err != nil {
		return nil, err
	}
	m := &Manifest{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	again, err := encode(m)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if !bytes.Equal(again, text) {
		return nil, fmt.Errorf("%w: line %d is not in canonical form", ErrMalformed, firstDifference(again, text))
	}
	return m, nil
}

// checkVersion checks the beginning first, so that the error for a manifest of a later version says
// so.
func checkVersion(text []byte) error {
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	switch {
	case head.Format != Format:
		return fmt.Errorf("%w: format %.40q, want %q", ErrMalformed, head.Format, Format)
	case head.Version != Version:
		return fmt.Errorf("%w: version %d; this program knows version %d", ErrMalformed, head.Version, Version)
	}
	return nil
}

// firstDifference returns the number of the first line, from 1, in which b differs from a.
func firstDifference(a, b []byte) int {
	line := 1
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			break
		}
		if a[i] == '\n' {
			line++
		}
	}
	return line
}
