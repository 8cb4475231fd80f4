package files

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/pfs"
)

// modeChange returns the permission bits that an entry is to have.
type modeChange func(info pfs.Info) fs.FileMode

// usualMask is what others do not get if nobody is named, as "+w": there is no umask on
// the service, and this is the usual one.
const usualMask fs.FileMode = 0o022

// Whose bits the letters before an operator mean, each as one of rwx of all three.
var modeClasses = map[rune]fs.FileMode{'u': 0o700, 'g': 0o070, 'o': 0o007, 'a': 0o777}

// parseMode reads a mode as chmod takes it: octal, or symbolic as "u+rwX,go-w".
func parseMode(text string) (modeChange, error) {
	if text != "" && strings.Trim(text, "0123456789") == "" {
		bits, err := strconv.ParseUint(text, 8, 32)
		if err != nil || bits > 0o777 {
			return nil, cliargs.Usagef("mode %s: an octal number up to 777 is needed", text)
		}
		return func(pfs.Info) fs.FileMode { return fs.FileMode(bits) }, nil
	}
	var steps []modeStep
	for clause := range strings.SplitSeq(text, ",") {
		more, err := parseClause(clause)
		if err != nil {
			return nil, cliargs.Usagef("mode %q: %v", text, err)
		}
		steps = append(steps, more...)
	}
	return func(info pfs.Info) fs.FileMode {
		bits := info.Mode.Perm()
		for _, s := range steps {
			bits = s.apply(bits, info.IsDir())
		}
		return bits
	}, nil
}

// modeStep is one operator of a symbolic mode, with what stands behind it.
type modeStep struct {
	who   fs.FileMode // classes that it changes
	mask  fs.FileMode // bits of them that may be given or taken
	op    byte        // one of + - =
	bits  fs.FileMode // of all three classes
	ifAny bool        // X: x of directories, and of what has an x
	from  fs.FileMode // class whose bits are taken, as in g=u; 0 is none
}

// parseClause reads "u+rwX" or "go=r-x": classes, and then one or several operators.
func parseClause(clause string) ([]modeStep, error) {
	at := strings.IndexAny(clause, "+-=")
	if at < 0 {
		return nil, fmt.Errorf("write it as 755, u+rwX or go-w")
	}
	var who fs.FileMode
	for _, class := range clause[:at] {
		bits, ok := modeClasses[class]
		if !ok {
			return nil, fmt.Errorf("%q is none of u, g, o and a", class)
		}
		who |= bits
	}
	step := modeStep{who: who, mask: who}
	if who == 0 {
		step.who, step.mask = 0o777, 0o777&^usualMask
	}
	var steps []modeStep
	for rest := clause[at:]; rest != ""; {
		s := step
		s.op = rest[0]
		end := strings.IndexAny(rest[1:], "+-=") + 1
		if end == 0 {
			end = len(rest)
		}
		if err := s.permissions(rest[1:end]); err != nil {
			return nil, err
		}
		steps = append(steps, s)
		rest = rest[end:]
	}
	return steps, nil
}

// permissions reads what stands behind an operator.
func (s *modeStep) permissions(letters string) error {
	if class, ok := modeClasses[rune((letters + " ")[0])]; ok && len(letters) == 1 && letters != "a" {
		s.from = class
		return nil
	}
	for _, letter := range letters {
		switch letter {
		case 'r':
			s.bits |= 0o444
		case 'w':
			s.bits |= 0o222
		case 'x':
			s.bits |= 0o111
		case 'X':
			s.ifAny = true
		default:
			return fmt.Errorf("%q is none of r, w, x and X", letter)
		}
	}
	return nil
}

// apply returns the bits as the step makes them of old.
func (s modeStep) apply(old fs.FileMode, isDir bool) fs.FileMode {
	bits := s.bits
	if s.from != 0 {
		class := old & s.from // in one of the three places
		class |= class>>3 | class>>6 | class<<3 | class<<6
		bits = class & 0o777
	}
	if s.ifAny && (isDir || old&0o111 != 0) {
		bits |= 0o111
	}
	bits &= s.mask
	switch s.op {
	case '+':
		return old | bits
	case '-':
		return old &^ bits
	}
	return old&^s.who | bits
}
