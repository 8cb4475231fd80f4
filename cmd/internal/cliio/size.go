package cliio

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size formats a number of bytes for people, such as "1.5 GiB". From 1024 it has two or three
// digits.
func Size(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	f, unit := float64(n)/1024, 0
	for f >= 999.5 && unit < len(units)-1 {
		f, unit = f/1024, unit+1
	}
	if f < 9.95 {
		return fmt.Sprintf("%.1f %ciB", f, units[unit])
	}
	return fmt.Sprintf("%.0f %ciB", f, units[unit])
}

// ShortSize is Size for columns: "1.5G", "17".
func ShortSize(n int64) string {
	s := strings.Replace(Size(n), " ", "", 1)
	return strings.TrimSuffix(strings.TrimSuffix(s, "iB"), "B")
}

// ParseSize parses a number of bytes: "4096", "10M" and "10MiB" (1024 * 1024), "10MB" (1000 *
// 1000), "1.5G". Case does not matter.
func ParseSize(s string) (int64, error) {
	n, err := parseSize(s)
	if err != nil {
		return 0, fmt.Errorf("%q is %w", s, err)
	}
	return n, nil
}

// parseSize is ParseSize with errors that do not include s.
func parseSize(s string) (int64, error) {
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	f, err := strconv.ParseFloat(digits, 64)
	factor, ok := unitFactor(strings.ToUpper(s[len(digits):]))
	if err != nil || !ok || f < 0 {
		return 0, errors.New("no size: write it as 4096, 10M or 1.5G")
	}
	if f *= factor; f >= math.MaxInt64 {
		return 0, errors.New("too large a size")
	}
	return int64(f), nil
}

func unitFactor(unit string) (factor float64, ok bool) {
	if unit == "" || unit == "B" {
		return 1, true
	}
	power := strings.IndexByte("KMGTPE", unit[0]) + 1
	switch {
	case power == 0:
		return 0, false
	case unit[1:] == "" || unit[1:] == "IB":
		return math.Pow(1024, float64(power)), true
	case unit[1:] == "B":
		return math.Pow(1000, float64(power)), true
	}
	return 0, false
}

// SizeFlag is the value of a flag that takes a number of bytes.
type SizeFlag struct {
	Bytes int64
	Given bool
}

// Set reads the value.
func (f *SizeFlag) Set(s string) (err error) {
	f.Given = true
	f.Bytes, err = parseSize(s)
	return err
}

// String is empty if the flag is not given, so that help texts show no default.
func (f *SizeFlag) String() string {
	if f == nil || !f.Given {
		return ""
	}
	return strconv.FormatInt(f.Bytes, 10)
}
