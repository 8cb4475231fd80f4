package main

import (
	"errors"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/recordio/convert"
)

// explain gives an error of package convert its exit code, and a bad record the path
// of its input.
func (c *conversion) explain(err error) error {
	var bad *convert.RecordError
	if errors.As(err, &bad) {
		bad.Input = c.in.name(bad.Input)
	}
	if p, ok := errors.Unwrap(err).(*pfs.Error); ok && p.Path != "" {
		err = p // names the input better than package convert in front of it
	}
	return convertError(recordError(err))
}

// located returns a bad record with the path of its input.
func (c *conversion) located(bad *convert.RecordError) *convert.RecordError {
	located := *bad
	located.Input = c.in.name(bad.Input)
	return &located
}

// convertError gives an error of package convert its exit code; others are returned
// as they are.
func convertError(err error) error {
	var p *pfs.Error
	if err == nil || errors.As(err, &p) {
		return err
	}
	switch {
	case errors.Is(err, convert.ErrChecksum), errors.Is(err, convert.ErrTruncated):
		return dataError{err, pfs.Integrity}
	case errors.Is(err, convert.ErrUnsupported):
		return dataError{err, pfs.Unsupported}
	}
	return err
}
