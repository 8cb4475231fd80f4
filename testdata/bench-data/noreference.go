//go:build !reference

package main

// reference is nil: PaddlePaddle/recordio is not built in.
func reference() *library { return nil }
