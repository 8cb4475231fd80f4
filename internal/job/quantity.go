package job

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// The factors of memory, from the largest. As in Kubernetes, "G" is decimal and "Gi" is not.
var memoryUnits = []struct {
	name   string
	factor int64
}{
	{"Ti", 1 << 40}, {"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10},
	{"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}, {"K", 1e3}, {"", 1},
}

// ParseMemory parses an amount of memory such as 1Gi, 512Mi or 1.5Gi.
func ParseMemory(s string) (int64, error) {
	for _, u := range memoryUnits {
		digits, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		n, err := decimal(digits)
		switch {
		case err != nil:
			return 0, fmt.Errorf("%q is not an amount of memory: write it as 512Mi or 1Gi", s)
		case n*float64(u.factor) >= math.MaxInt64:
			return 0, fmt.Errorf("%q is too much memory", s)
		}
		return int64(n * float64(u.factor)), nil
	}
	panic("unreachable: the last unit fits every text")
}

// FormatMemory returns n bytes in the largest unit that needs no fraction.
func FormatMemory(n int64) string {
	for _, u := range memoryUnits[:4] {
		if n != 0 && n%u.factor == 0 {
			return strconv.FormatInt(n/u.factor, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// ParseCPU parses a number of processors such as 4, 0.5 or 500m, and returns thousandths.
func ParseCPU(s string) (int64, error) {
	digits, milli := strings.CutSuffix(s, "m")
	n, err := decimal(digits)
	if !milli {
		n *= 1000
	}
	switch {
	case err != nil || n != math.Trunc(n):
		return 0, fmt.Errorf("%q is not a number of processors: write it as 4, 0.5 or 500m", s)
	case n >= math.MaxInt32:
		return 0, fmt.Errorf("%q are too many processors", s)
	}
	return int64(n), nil
}

// FormatCPU is the reverse of ParseCPU.
func FormatCPU(milli int64) string {
	if milli%1000 == 0 {
		return strconv.FormatInt(milli/1000, 10)
	}
	return strconv.FormatInt(milli, 10) + "m"
}

// decimal parses digits with at most one point. It refuses signs and exponents.
func decimal(s string) (float64, error) {
	if s == "" || strings.Trim(s, "0123456789.") != "" {
		return 0, errors.New("no number")
	}
	return strconv.ParseFloat(s, 64)
}
