package main

import (
	"errors"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/recordio/convert"
)

// explain gives an error of a conversion its exit code.
func (c *conversion) explain(err error) error {
	if p, ok := errors.Unwrap(err).(*pfs.Error); ok && p.Path != "" {
		err = p // names the input better than package convert in front of it
	}
	if errors.Is(err, convert.ErrUnlabelled) {
		return hinted{err, "the directories right below an operand are labels; --label-from dir takes those that the images are in, none makes records without"}
	}
	return convertError(recordError(err))
}
