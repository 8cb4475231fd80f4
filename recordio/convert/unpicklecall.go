package convert

import (
	"strings"
	"unicode/utf8"
)

// classes are the names that a pickle may contain, with the functions that replace calls of them.
// Nothing outside of this file is ever called, whatever a pickle contains. nil is a class that is
// only an argument. Module names of Python 2 and of older numpy releases are translated; see
// moduleNow.
var classes = map[string]func(u *unpickler, args []any) (any, error){
	"builtins.set":                        (*unpickler).makeSet,
	"builtins.frozenset":                  (*unpickler).makeSet,
	"builtins.bytearray":                  (*unpickler).makeByteArray,
	"builtins.bytes":                      (*unpickler).makeBytes,
	"builtins.complex":                    (*unpickler).makeComplex,
	"builtins.list":                       nil,
	"builtins.dict":                       nil,
	"builtins.int":                        nil,
	"builtins.float":                      nil,
	"builtins.str":                        nil,
	"collections.OrderedDict":             (*unpickler).makeDict,
	"collections.defaultdict":             (*unpickler).makeDefaultDict,
	"decimal.Decimal":                     (*unpickler).makeDecimal,
	"datetime.date":                       (*unpickler).makeDate,
	"datetime.datetime":                   (*unpickler).makeDateTime,
	"datetime.time":                       (*unpickler).makeTime,
	"datetime.timedelta":                  (*unpickler).makeTimeDelta,
	"datetime.timezone":                   (*unpickler).makeZone,
	"_codecs.encode":                      (*unpickler).makeBytes,
	"numpy.dtype":                         (*unpickler).makeDType,
	"numpy.ndarray":                       nil,
	"numpy._core.multiarray._reconstruct": (*unpickler).makeArray,
	"numpy._core.multiarray.scalar":       (*unpickler).makeScalar,
	"numpy._core.numeric._frombuffer":     (*unpickler).makeBuffer,
}

// moduleNow returns the current name of a module.
func moduleNow(module string) string {
	if module == "__builtin__" {
		return "builtins"
	}
	if rest, ok := strings.CutPrefix(module, "numpy.core."); ok {
		return "numpy._core." + rest
	}
	return module
}

// call performs the events that name and call something.
func (u *unpickler) call() error {
	switch u.e.code {
	case opGlobal:
		return u.global(string(u.e.text), string(u.e.second))
	case opStackGlobal:
		names, err := u.pop(2)
		if err != nil {
			return err
		}
		module, ok := names[0].(*pickleText)
		name, ok2 := names[1].(*pickleText)
		if !ok || !ok2 {
			return u.wrong("of something that is not a name")
		}
		return u.global(string(module.data), string(name.data))
	case opBuild:
		return u.build()
	}
	return u.reduce()
}

// global pushes the object with that name.
func (u *unpickler) global(module, name string) error {
	known := moduleNow(module) + "." + name
	if _, ok := classes[known]; !ok {
		return faultf(ErrUnsupported, "offset %d: the pickle names %.100q, which is not data; it was not called, and nothing of the pickle is ever executed",
			u.e.offset, module+"."+name)
	}
	u.push(&callable{known})
	return nil
}

// reduce makes the value that a call would return.
func (u *unpickler) reduce() error {
	values, err := u.pop(2)
	if err != nil {
		return err
	}
	what, ok := values[0].(*callable)
	args, ok2 := values[1].(pickleTuple)
	if !ok || !ok2 || classes[what.name] == nil {
		return u.wrong("of something that cannot be called")
	}
	v, err := classes[what.name](u, args)
	if err != nil {
		return err
	}
	u.push(v)
	return nil
}

// badArgs is the error for arguments that no pickler writes.
func (u *unpickler) badArgs(name string) error {
	return faultf(ErrSyntax, "offset %d: %s with invalid arguments", u.e.offset, name)
}

// makeSet implements set([...]) and frozenset([...]).
func (u *unpickler) makeSet(args []any) (any, error) {
	if len(args) == 0 {
		return &pickleList{set: true}, nil
	}
	from, ok := args[0].(*pickleList)
	if !ok || len(args) > 1 {
		return nil, u.badArgs("set")
	}
	u.charge(len(from.items))
	return &pickleList{items: append([]any{}, from.items...), set: true}, nil
}

// charge accounts for the memory of a copy of n values.
func (u *unpickler) charge(n int) { u.fresh += valueCost * int64(n) }

// makeBytes implements bytes(), bytearray(bytes), bytearray(text, "latin-1") and
// _codecs.encode(text, "latin1").
func (u *unpickler) makeBytes(args []any) (any, error) {
	if len(args) == 0 {
		return &pickleText{kind: byteText}, nil
	}
	from, ok := args[0].(*pickleText)
	if !ok || len(args) > 2 {
		return nil, u.badArgs("bytes")
	}
	if len(args) == 1 && from.kind == unicodeText || len(args) == 2 && !isText(args[1], "latin1") && !isText(args[1], "latin-1") {
		return nil, u.badArgs("bytes")
	}
	out := *from
	out.kind, out.latin1 = byteText, from.kind == unicodeText
	return &out, nil
}

// makeByteArray is makeBytes for bytearray.
func (u *unpickler) makeByteArray(args []any) (any, error) {
	v, err := u.makeBytes(args)
	if t, ok := v.(*pickleText); ok {
		t.array = true
	}
	return v, err
}

// makeComplex implements complex(real, imaginary).
func (u *unpickler) makeComplex(args []any) (any, error) {
	if len(args) == 2 {
		re, ok := args[0].(float64)
		im, ok2 := args[1].(float64)
		if ok && ok2 {
			return complex(re, im), nil
		}
	}
	return nil, u.badArgs("complex")
}

// makeDict implements OrderedDict() and OrderedDict([[key, value], ...]).
func (u *unpickler) makeDict(args []any) (any, error) {
	d := &pickleDict{ordered: true}
	if len(args) == 0 {
		return d, nil
	}
	pairs, ok := args[0].(*pickleList)
	if !ok || len(args) > 1 {
		return nil, u.badArgs("OrderedDict")
	}
	for _, item := range pairs.items {
		pair := pairOf(item)
		if pair == nil {
			return nil, u.badArgs("OrderedDict")
		}
		d.keys, d.values = append(d.keys, pair[0]), append(d.values, pair[1])
	}
	u.charge(2 * len(pairs.items))
	return d, nil
}

// makeDefaultDict implements defaultdict(class) and defaultdict(None). Its items follow.
func (u *unpickler) makeDefaultDict(args []any) (any, error) {
	if len(args) > 1 {
		return nil, u.badArgs("defaultdict")
	}
	if len(args) == 1 && args[0] != nil {
		if _, ok := args[0].(*callable); !ok {
			return nil, u.badArgs("defaultdict")
		}
	}
	return &pickleDict{defaults: true}, nil
}

// makeDecimal implements Decimal("12.50").
func (u *unpickler) makeDecimal(args []any) (any, error) {
	if len(args) == 1 {
		if text, ok := textOf(args[0]); ok && len(text) > 0 {
			out := *args[0].(*pickleText)
			out.decimal = true
			return &out, nil
		}
	}
	return nil, u.badArgs("Decimal")
}

// pairOf returns the two items of a list or tuple, or nil.
func pairOf(v any) []any {
	var items []any
	switch v := v.(type) {
	case *pickleList:
		items = v.items
	case pickleTuple:
		items = v
	}
	if len(items) != 2 {
		return nil
	}
	return items
}

// textOf returns a short text, or false.
func textOf(v any) (string, bool) {
	t, ok := v.(*pickleText)
	if !ok || t.far != 0 || !utf8.Valid(t.data) {
		return "", false
	}
	return string(t.data), true
}
