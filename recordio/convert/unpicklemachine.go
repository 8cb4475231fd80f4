package convert

import (
	"io"
)

// unpickler is the pickle machine without calls: it builds values and nothing else.
type unpickler struct {
	scan   *pickleScanner
	plan   *picklePlan
	limits Limits

	e      pickleEvent
	stack  []any
	marks  []int // heights of the stack
	memo   map[int64]any
	stored int64 // number of values put into the memo, kept or not
	index  int   // of the pickle in its input

	// Approximate memory of values in bytes: those that the memo may hold for ever, and those since
	// the last sample.
	kept, fresh int64
	keeps       bool // the memo took one of the fresh values
}

// Approximate memory of a value without its bytes (an interface in a slice, and its target), and of
// an entry of the memo.
const (
	valueCost = 32
	memoCost  = 64
)

// memory is the limit for values, in bytes.
func (u *unpickler) memory() int64 { return 2 * int64(u.limits.Record) }

// begin resets the machine for the next pickle of the input.
func (u *unpickler) begin() {
	u.stack, u.marks, u.memo = u.stack[:0], u.marks[:0], map[int64]any{}
	u.stored, u.kept, u.fresh, u.keeps = 0, 0, 0, false
}

// run continues until the pickle ends, and returns its value, or until the list that is the whole
// pickle has received items: then it returns these and removes them from the list. At the end of
// the input it returns io.EOF.
func (u *unpickler) run() (value any, items []any, err error) {
	for {
		if err := u.scan.next(&u.e); err != nil {
			return nil, nil, u.ended(err)
		}
		if u.e.code == opStop {
			value, err := u.stop()
			return value, nil, err
		}
		if err := u.step(); err != nil {
			return nil, nil, err
		}
		if err := u.account(); err != nil {
			return nil, nil, err
		}
		if u.e.code == opAppend || u.e.code == opAppends {
			if items := u.give(); len(items) > 0 {
				return nil, items, nil
			}
		}
	}
}

// ended classifies the end of the input, which is allowed only between pickles.
func (u *unpickler) ended(err error) error {
	if err == io.EOF && (u.index == 0 && u.e.offset == 0 || len(u.stack) > 0 || len(u.marks) > 0) {
		return u.scan.c.failed(err, "a pickle")
	}
	return err
}

func (u *unpickler) stop() (any, error) {
	if len(u.stack) != 1 || len(u.marks) != 0 {
		return nil, u.wrong("with %d values on the stack", len(u.stack))
	}
	u.index++
	return u.stack[0], nil
}

// account adds the memory that an event takes.
func (u *unpickler) account() error {
	u.fresh += valueCost + int64(len(u.e.text)+len(u.e.second))
	if u.kept+u.fresh <= u.memory() {
		return nil
	}
	return faultf(ErrLimit, "offset %d: the values of the pickle take more than %d bytes before the first sample is complete, or because others may still refer to them; make several files of it, or give it as a file that is not compressed",
		u.e.offset, u.memory())
}

// give removes and returns the items of the list that is the whole pickle.
func (u *unpickler) give() []any {
	if len(u.stack) != 1 || len(u.marks) != 0 || !u.plan.streams(u.index) {
		return nil
	}
	list := u.stack[0].(*pickleList)
	items := list.items
	list.items, list.given = nil, true
	if u.keeps {
		u.kept += u.fresh
	}
	u.fresh, u.keeps = 0, false
	return items
}

func (u *unpickler) wrong(format string, args ...any) error {
	args = append([]any{u.e.offset, u.e.name()}, args...)
	return faultf(ErrSyntax, "offset %d: %s "+format, args...)
}

func (u *unpickler) push(v any) { u.stack = append(u.stack, v) }

// pop removes n values from the stack, which must be above the last mark. They are valid until the
// next push.
func (u *unpickler) pop(n int) ([]any, error) {
	low := len(u.stack) - n
	if len(u.marks) > 0 && low < u.marks[len(u.marks)-1] || low < 0 {
		return nil, u.wrong("needs %d values that are missing", n)
	}
	values := u.stack[low:]
	u.stack = u.stack[:low]
	return values, nil
}

// popMark removes all values above the last mark.
func (u *unpickler) popMark() ([]any, error) {
	if len(u.marks) == 0 {
		return nil, u.wrong("without a mark")
	}
	low := u.marks[len(u.marks)-1]
	u.marks = u.marks[:len(u.marks)-1]
	values := u.stack[low:]
	u.stack = u.stack[:low]
	return values, nil
}

// top returns the value on the top of the stack.
func (u *unpickler) top() (any, error) {
	values, err := u.pop(1)
	if err != nil {
		return nil, err
	}
	u.push(values[0])
	return values[0], nil
}

// step performs one event.
func (u *unpickler) step() error {
	switch u.e.code {
	case opProto:
		if u.e.number > 5 {
			return faultf(ErrUnsupported, "offset %d: protocol %d of pickle; 0 to 5 are known", u.e.offset, u.e.number)
		}
	case opFrame:
	case opMark:
		u.marks = append(u.marks, len(u.stack))
	case opPop:
		return u.discard()
	case opPopMark:
		_, err := u.popMark()
		return err
	case opDup:
		v, err := u.top()
		if err == nil {
			u.push(v)
		}
		return err
	case opPut, opBinPut, opLongBinPut, opMemoize, opGet, opBinGet, opLongBinGet:
		return u.remember()
	case opReduce, opBuild, opGlobal, opStackGlobal:
		return u.call()
	case opAppend, opAppends, opAddItems, opSetItem, opSetItems:
		return u.fill()
	default:
		v, err := u.value()
		if err == nil {
			u.push(v)
		}
		return err
	}
	return nil
}

// discard implements POP, which may also remove a mark.
func (u *unpickler) discard() error {
	if n := len(u.marks); n > 0 && u.marks[n-1] == len(u.stack) {
		u.marks = u.marks[:n-1]
		return nil
	}
	_, err := u.pop(1)
	return err
}

// remember implements the memo events.
func (u *unpickler) remember() error {
	switch u.e.code {
	case opGet, opBinGet, opLongBinGet:
		v, ok := u.memo[u.e.number]
		if !ok {
			return u.wrong("%d of nothing", u.e.number)
		}
		u.push(v)
		return nil
	case opMemoize:
		u.e.number = u.stored
	}
	v, err := u.top()
	if err != nil {
		return err
	}
	u.stored++
	if u.plan.needs(u.e.number) {
		u.memo[u.e.number], u.keeps = v, true
		u.fresh += memoCost
	}
	return nil
}

// value makes the value of an event that pushes one.
func (u *unpickler) value() (any, error) {
	e := &u.e
	switch e.code {
	case opNone:
		return nil, nil
	case opNewTrue, opNewFalse:
		return e.code == opNewTrue, nil
	case opBinInt, opBinInt1, opBinInt2:
		return e.number, nil
	case opInt, opLong:
		return parsePickleInt(e)
	case opLong1, opLong4:
		return parsePickleLong(e)
	case opFloat:
		return parsePickleFloat(e)
	case opBinFloat:
		return e.float, nil
	case opString:
		data, err := unquotePickle(e)
		return &pickleText{kind: oldText, data: data}, err
	case opUnicode:
		data, err := decodeRawUnicode(e)
		return &pickleText{kind: unicodeText, data: data}, err
	case opBinString, opShortBinString:
		return e.bytes(oldText), nil
	case opBinUnicode, opShortBinUnicode, opBinUnicode8:
		return e.bytes(unicodeText), nil
	case opBinBytes, opShortBinBytes, opBinBytes8:
		return e.bytes(byteText), nil
	case opByteArray8:
		t := e.bytes(byteText)
		t.array = true
		return t, nil
	}
	return u.collection()
}

// bytes returns the argument as a value.
func (e *pickleEvent) bytes(kind textKind) *pickleText {
	return &pickleText{kind: kind, data: e.text, far: e.far, length: e.length}
}

// collection makes the value of an event that builds a collection.
func (u *unpickler) collection() (any, error) {
	switch u.e.code {
	case opEmptyList, opEmptySet:
		return &pickleList{set: u.e.code == opEmptySet}, nil
	case opEmptyTuple:
		return pickleTuple{}, nil
	case opEmptyDict:
		return &pickleDict{}, nil
	case opTuple1, opTuple2, opTuple3:
		values, err := u.pop(int(u.e.code-opTuple1) + 1)
		return append(pickleTuple{}, values...), err
	case opTuple:
		values, err := u.popMark()
		return append(pickleTuple{}, values...), err
	case opList, opFrozenSet:
		values, err := u.popMark()
		return &pickleList{items: append([]any{}, values...), set: u.e.code == opFrozenSet}, err
	case opDict:
		values, err := u.popMark()
		if err != nil {
			return nil, err
		}
		d := &pickleDict{}
		return d, u.setItems(d, values)
	}
	return nil, faultf(ErrUnsupported, "offset %d: opcode %s makes an object of a class, or takes something from outside of the pickle; only data is read", u.e.offset, u.e.name())
}

// fill implements the events that put values into a collection.
func (u *unpickler) fill() error {
	values, err := u.fillings()
	if err != nil {
		return err
	}
	into, err := u.top()
	if err != nil {
		return err
	}
	switch to := into.(type) {
	case *pickleList:
		if u.e.code != opSetItem && u.e.code != opSetItems {
			to.items = append(to.items, values...)
			return nil
		}
	case *pickleDict:
		if u.e.code == opSetItem || u.e.code == opSetItems {
			return u.setItems(to, values)
		}
	}
	return u.wrong("on a value of another type")
}

// fillings removes the new items of a collection from the stack.
func (u *unpickler) fillings() ([]any, error) {
	switch u.e.code {
	case opAppend:
		return u.pop(1)
	case opSetItem:
		return u.pop(2)
	}
	return u.popMark()
}

// setItems adds alternating keys and values to d. In Python the last of two equal keys counts; that
// is left to the reader of the record.
func (u *unpickler) setItems(d *pickleDict, values []any) error {
	if len(values)%2 != 0 {
		return u.wrong("with a key without a value")
	}
	for i := 0; i < len(values); i += 2 {
		d.keys, d.values = append(d.keys, values[i]), append(d.values, values[i+1])
	}
	return nil
}
