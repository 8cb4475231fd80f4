package main

import "github.com/paddlecloud/pfs/pfs"

// cause returns the text of err without its Kind if the error has no path: then the text already
// names the file or account and the problem, and the Kind would repeat it.
func cause(err error) error {
	e, ok := err.(*pfs.Error)
	if !ok || e.Path != "" || e.Err == nil {
		return err
	}
	return cause(e.Err)
}
