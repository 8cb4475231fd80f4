package main

import "github.com/paddlecloud/pfs/pfs"

// cause returns the words of err without its Kind, where it names no path of the
// tree: then they tell the file or account and what is wrong, and the Kind would say
// it once more.
func cause(err error) error {
	e, ok := err.(*pfs.Error)
	if !ok || e.Path != "" || e.Err == nil {
		return err
	}
	return cause(e.Err)
}
