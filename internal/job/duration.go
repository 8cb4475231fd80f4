package job

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"time"
)

// day is the meaning of "1d": 24 hours, regardless of clock changes.
const day = 24 * time.Hour

// dayPart is a number of weeks or days at the beginning of a time.
var dayPart = regexp.MustCompile(`^(\d+(?:\.\d*)?|\.\d+)([wd])`)

// ParseDuration parses a time of zero or more in Go's form, such as "90m" or "1h30m", optionally
// with weeks and days before it: "7d", "2w", "1d12h", "1.5d".
func ParseDuration(s string) (time.Duration, error) {
	rest, total := s, 0.0
	for {
		part := dayPart.FindStringSubmatch(rest)
		if part == nil {
			break
		}
		n, err := strconv.ParseFloat(part[1], 64)
		if err != nil {
			return 0, errNoTime
		}
		unit := day
		if part[2] == "w" {
			unit = 7 * day
		}
		total += n * float64(unit)
		rest = rest[len(part[0]):]
	}
	if rest != "" || s == "" {
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 {
			return 0, errNoTime
		}
		if total == 0 {
			return d, nil
		}
		total += float64(d)
	}
	if total >= math.MaxInt64 {
		return 0, errors.New("too long a time")
	}
	return time.Duration(total), nil
}

var errNoTime = errors.New("no time: write it as 30s, 90m, 12h, 7d or 2w")
