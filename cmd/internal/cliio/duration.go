package cliio

import (
	"time"

	"github.com/paddlecloud/pfs/internal/job"
)

// DurationFlag is the value of a flag that takes a time.
type DurationFlag struct {
	Duration time.Duration
	Given    bool
}

// Set reads the value.
func (f *DurationFlag) Set(s string) (err error) {
	f.Given = true
	f.Duration, err = job.ParseDuration(s)
	return err
}

// String returns the time, empty if there is none, so that help texts show no default.
func (f *DurationFlag) String() string {
	if f == nil || f.Duration == 0 && !f.Given {
		return ""
	}
	return f.Duration.String()
}
