//go:build !linux && !darwin

package localfs

// fill adds fields that package os omits: on this system, none.
func (s *stat) fill(any) {}
