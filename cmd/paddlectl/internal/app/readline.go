package app

import (
	"io"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
)

// ReadLine reads one line, byte by byte so that what follows is left to be read,
// without its end.
func ReadLine(r io.Reader) (string, error) {
	const most = 4096
	var line strings.Builder
	buf := make([]byte, 1)
	for line.Len() < most {
		n, err := r.Read(buf)
		if n == 1 && buf[0] == '\n' {
			return strings.TrimSuffix(line.String(), "\r"), nil
		}
		line.Write(buf[:n])
		if err == io.EOF && line.Len() > 0 {
			return strings.TrimSuffix(line.String(), "\r"), nil
		}
		if err == io.EOF {
			return "", cliargs.Usagef("standard input is empty where a line is needed")
		}
		if err != nil {
			return "", err
		}
	}
	return "", cliargs.Usagef("the line on standard input is longer than %d bytes", most)
}
