package convert

import "strings"

// The pickle opcodes that are only read, by their names in pickletools.
const (
	opPop             = '0'
	opPopMark         = '1'
	opDup             = '2'
	opFloat           = 'F'
	opInt             = 'I'
	opLong            = 'L'
	opString          = 'S'
	opBinString       = 'T'
	opUnicode         = 'V'
	opAppend          = 'a'
	opDict            = 'd'
	opGet             = 'g'
	opBinGet          = 'h'
	opLongBinGet      = 'j'
	opList            = 'l'
	opPut             = 'p'
	opBinPut          = 'q'
	opLongBinPut      = 'r'
	opSetItem         = 's'
	opBinBytes        = 'B'
	opShortBinBytes   = 'C'
	opShortBinUnicode = 0x8c
	opBinUnicode8     = 0x8d
	opBinBytes8       = 0x8e
	opEmptySet        = 0x8f
	opAddItems        = 0x90
	opFrozenSet       = 0x91
	opStackGlobal     = 0x93
	opMemoize         = 0x94
	opFrame           = 0x95
	opByteArray8      = 0x96
)

// argument is the encoding of an opcode's argument.
type argument uint8

const (
	argNone   argument = iota
	argU1              // a number of 1, 2, 4 or 8 bytes, little-endian
	argU2              //
	argU4              //
	argU8              //
	argI4              // a signed number of 4 bytes
	argF8              // a float64, big-endian
	argLine            // text up to the end of the line
	argDigits          // a decimal number without sign, up to the end of the line
	argLines           // two lines
	// argBytes, with one of the numbers, is that number and so many bytes.
	argBytes argument = 1 << 7
)

// opcode describes an opcode; its name is empty if it does not exist.
type opcode struct {
	name string
	arg  argument
}

// opcodes has each opcode at its value. In the lists, the value precedes the name.
var opcodes = func() (table [256]opcode) {
	for arg, list := range map[argument]string{
		argNone: "(MARK .STOP 0POP 1POP_MARK 2DUP NNONE QBINPERSID RREDUCE aAPPEND bBUILD dDICT }EMPTY_DICT " +
			"eAPPENDS lLIST ]EMPTY_LIST oOBJ sSETITEM tTUPLE )EMPTY_TUPLE uSETITEMS \x81NEWOBJ " +
			"\x85TUPLE1 \x86TUPLE2 \x87TUPLE3 \x88NEWTRUE \x89NEWFALSE \x8fEMPTY_SET \x90ADDITEMS " +
			"\x91FROZENSET \x92NEWOBJ_EX \x93STACK_GLOBAL \x94MEMOIZE \x97NEXT_BUFFER " +
			"\x98READONLY_BUFFER",
		argU1:            "KBININT1 hBINGET qBINPUT \x80PROTO \x82EXT1",
		argU2:            "MBININT2 \x83EXT2",
		argU4:            "jLONG_BINGET rLONG_BINPUT",
		argU8:            "\x95FRAME",
		argI4:            "JBININT \x84EXT4",
		argF8:            "GBINFLOAT",
		argLine:          "FFLOAT IINT LLONG PPERSID SSTRING VUNICODE",
		argDigits:        "gGET pPUT",
		argLines:         "cGLOBAL iINST",
		argBytes | argU1: "USHORT_BINSTRING \x8aLONG1 CSHORT_BINBYTES \x8cSHORT_BINUNICODE",
		argBytes | argU4: "XBINUNICODE BBINBYTES",
		argBytes | argI4: "TBINSTRING \x8bLONG4",
		argBytes | argU8: "\x8dBINUNICODE8 \x8eBINBYTES8 \x96BYTEARRAY8",
	} {
		for _, op := range strings.Fields(list) {
			table[op[0]] = opcode{op[1:], arg}
		}
	}
	return table
}()
