package webhdfs

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// params are the parameters of a request. Their names do not depend on case.
type params url.Values

func parseParams(query string) (params, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, illegal("the parameters cannot be read: %v", err)
	}
	p := params{}
	for name, v := range values {
		name = strings.ToLower(name)
		p[name] = append(p[name], v...)
	}
	return p, nil
}

// text returns a parameter, empty if it is missing.
func (p params) text(name string) string { return url.Values(p).Get(name) }

// integer returns a parameter of the radix, or missing if there is none.
func (p params) integer(name string, radix, bits int, missing int64) (int64, error) {
	s := p.text(name)
	if s == "" || s == "null" {
		return missing, nil
	}
	n, err := strconv.ParseInt(s, radix, bits)
	if err != nil {
		kind := map[int]string{16: "short", 32: "", 64: "long "}[bits]
		if bits == 16 {
			kind = "short "
		}
		return 0, badParam(name, fmt.Sprintf("Failed to parse %q as a radix-%d %sinteger.", s, radix, kind))
	}
	return n, nil
}

// long returns a parameter that must not be less than least.
func (p params) long(name string, least, missing int64) (int64, error) {
	n, err := p.integer(name, 10, 64, missing)
	if err == nil && n != missing && n < least {
		err = badParam(name, fmt.Sprintf("Invalid parameter range: %s = %d < %d", name, n, least))
	}
	return n, err
}

// replication returns the parameter replication, or 0 if there is none.
func (p params) replication() (int, error) {
	const missing = math.MinInt64 // not one of 16 bits
	n, err := p.integer("replication", 10, 16, missing)
	switch {
	case n == missing:
		n = 0
	case err == nil && n < 1:
		err = badParam("replication", "Invalid parameter range: replication = "+itoa(n)+" < 1")
	}
	return int(n), err
}

// checkBlockSize refuses a blocksize that no store could have. That of new files is the store's.
func (p params) checkBlockSize() error {
	n, err := p.long("blocksize", 1, blockSize)
	if err == nil && n%bytesPerSum != 0 {
		err = exception{hadoopIllegal, fmt.Sprintf("Invalid values: dfs.bytes-per-checksum (=%d) must divide block size (=%d).", bytesPerSum, n), http.StatusBadRequest}
	}
	return err
}

// yes returns a boolean parameter.
func (p params) yes(name string, missing bool) (bool, error) {
	switch s := p.text(name); strings.ToLower(s) {
	case "", "null":
		return missing, nil
	case "true":
		return true, nil
	case "false":
		return false, nil
	default:
		return false, badParam(name, fmt.Sprintf("Failed to parse %q to Boolean.", s))
	}
}

// mode returns the parameter permission, or missing if there is none.
func (p params) mode(missing uint32) (uint32, error) {
	const name, most = "permission", 0o1777
	n, err := p.integer(name, 8, 16, int64(missing))
	switch {
	case err != nil:
		return 0, err
	case n < 0:
		return 0, badParam(name, fmt.Sprintf("Invalid parameter range: %s = %o < 0", name, n))
	case n > most:
		return 0, badParam(name, fmt.Sprintf("Invalid parameter range: %s = %o > %o", name, n, most))
	}
	return uint32(n), nil
}
