//go:build !linux

package localfs

import "os"

// statFile describes an open file.
func statFile(f *os.File) (stat, error) {
	info, err := f.Stat()
	if err != nil {
		return stat{}, err
	}
	return statOf(info), nil
}
