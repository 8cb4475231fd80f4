//go:build !race

package main

import (
	"os"
	"syscall"
)

// residentOf returns the MiB that an ended process had resident.
func residentOf(state *os.ProcessState) int64 {
	return state.SysUsage().(*syscall.Rusage).Maxrss >> 10
}
