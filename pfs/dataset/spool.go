package dataset

import (
	"bufio"
	"encoding/binary"
	"io"

	"github.com/paddlecloud/pfs/pfs/dataset/recordfile"
	"github.com/paddlecloud/pfs/recordio/convert"
)

// newSpill makes room for a shuffle.
func newSpill() (convert.Spill, error) { return recordfile.NewTempFile() }

// spool keeps records in a temporary file, in their order. It is used by one
// goroutine: add for each, then each, then close.
type spool struct {
	file *recordfile.TempFile
	w    *bufio.Writer
}

// spoolBuffer makes the calls of the system few.
const spoolBuffer = 256 << 10

func (s *spool) add(payload []byte) (err error) {
	if s.file == nil {
		if s.file, err = recordfile.NewTempFile(); err != nil {
			return err
		}
		s.w = bufio.NewWriterSize(s.file, spoolBuffer)
	}
	var head [4]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(payload))) // records are less than 2 GiB
	if _, err := s.w.Write(head[:]); err != nil {
		return err
	}
	_, err = s.w.Write(payload)
	return err
}

// each gives every record to emit; it is valid during the call.
func (s *spool) each(emit func(payload []byte) error) error {
	if s.file == nil {
		return nil
	}
	if err := s.w.Flush(); err != nil {
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	r := bufio.NewReaderSize(s.file, spoolBuffer)
	var head [4]byte
	var buf []byte
	for {
		if _, err := io.ReadFull(r, head[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		n := int(binary.LittleEndian.Uint32(head[:]))
		if cap(buf) < n {
			buf = make([]byte, n)
		}
		if _, err := io.ReadFull(r, buf[:n]); err != nil {
			return err
		}
		if err := emit(buf[:n]); err != nil {
			return err
		}
	}
}

func (s *spool) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}
