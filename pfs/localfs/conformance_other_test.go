//go:build !linux

package localfs

// systemWays are the ways that only this system has: none.
var systemWays []way
