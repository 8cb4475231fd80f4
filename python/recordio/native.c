/* Reads, checks, decompresses, cuts and decodes whole chunks, where a C compiler was at hand when the package was
   installed. It does what is usual, and leaves everything else to Python: a function returns None or False for
   bytes that are damaged, or that it does not know, and the caller then does the same in Python, which decides what
   they are. So the results and the errors are those of Python.

   Only the stable interface of Python 3.10 is used. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

typedef uint8_t byte;

enum {
  HEADER = 20,           /* bytes of the header of a chunk */
  NONE = 0,
  SNAPPY = 1,
  MAX_CHUNK = 1 << 30,   /* bytes, stored and decompressed */
  PIECE = 256 << 10,     /* bytes read at a time: they stay in the caches of the processor */
  FRAME = 64 << 10,      /* bytes of data in a snappy frame */
  SLACK = 64,            /* bytes behind the data that copies may fill */
  DEPTH = 100,           /* of nested MessagePack */
  PREPARED = 4096,       /* elements of a list whose memory is allocated before they are seen */
  KEYS = 256,            /* cached keys of maps */
  KEY_BYTES = 32,
  HEAD_BYTES = 128,      /* of an array: all but its data */
};

static PyObject *constant(PyObject *of) {
  Py_INCREF(of);
  return of;
}

static uint32_t little(const byte *p) { return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24; }

/* --- CRC-32 of chunks, and CRC-32C of snappy frames */

static uint32_t crc_table[8][256], crc32c_table[8][256];

static void make_table(uint32_t table[8][256], uint32_t polynomial) {
  for (int i = 0; i < 256; i++) {
    uint32_t c = i;
    for (int k = 0; k < 8; k++) c = c >> 1 ^ (c & 1 ? polynomial : 0);
    table[0][i] = c;
  }
  for (int i = 0; i < 256; i++)
    for (int k = 1; k < 8; k++) table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 255];
}

/* Continues the inverted checksum c, eight bytes at a time. */
static uint32_t crc_bytes(uint32_t table[8][256], uint32_t c, const byte *p, size_t n) {
  for (; n >= 8; p += 8, n -= 8) {
    uint32_t a = c ^ little(p), b = little(p + 4);
    c = table[7][a & 255] ^ table[6][a >> 8 & 255] ^ table[5][a >> 16 & 255] ^ table[4][a >> 24] ^
        table[3][b & 255] ^ table[2][b >> 8 & 255] ^ table[1][b >> 16 & 255] ^ table[0][b >> 24];
  }
  while (n--) c = c >> 8 ^ table[0][(c ^ *p++) & 255];
  return c;
}

#if defined(__x86_64__) && !defined(PORTABLE)
#include <immintrin.h>

/* Moves the remainder x over the bits that k stands for, and adds next. The constants are powers of x modulo the
   polynomial, as in Gopal et al., Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction. */
#define FOLD(x, k, next) \
  _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(x, k, 0x00), _mm_clmulepi64_si128(x, k, 0x11)), next)
#define LOAD(p) _mm_loadu_si128((const __m128i *)(p))

__attribute__((target("pclmul,sse2"))) static uint32_t crc_folded(uint32_t c, const byte *p, size_t n) {
  const __m128i far = _mm_set_epi64x(0x1C6E41596, 0x154442BD4), near = _mm_set_epi64x(0x0CCAA009E, 0x1751997D0);
  __m128i a = _mm_xor_si128(LOAD(p), _mm_cvtsi32_si128((int)c)), b = LOAD(p + 16), d = LOAD(p + 32), e = LOAD(p + 48);
  byte rest[16];

  for (p += 64, n -= 64; n >= 64; p += 64, n -= 64) {
    a = FOLD(a, far, LOAD(p));
    b = FOLD(b, far, LOAD(p + 16));
    d = FOLD(d, far, LOAD(p + 32));
    e = FOLD(e, far, LOAD(p + 48));
  }
  b = FOLD(a, near, b);
  d = FOLD(b, near, d);
  e = FOLD(d, near, e);
  for (; n >= 16; p += 16, n -= 16) e = FOLD(e, near, LOAD(p));
  _mm_storeu_si128((__m128i *)rest, e);
  return crc_bytes(crc_table, crc_bytes(crc_table, 0, rest, 16), p, n);
}

__attribute__((target("sse4.2"))) static uint32_t crc32c_words(uint32_t c, const byte *p, size_t n) {
  for (; n >= 8; p += 8, n -= 8) {
    uint64_t word;
    memcpy(&word, p, 8);
    c = (uint32_t)_mm_crc32_u64(c, word);
  }
  return crc_bytes(crc32c_table, c, p, n);
}

static uint32_t crc32_of(uint32_t crc, const byte *p, size_t n) {
  return ~(n >= 64 && __builtin_cpu_supports("pclmul") ? crc_folded(~crc, p, n) : crc_bytes(crc_table, ~crc, p, n));
}

static uint32_t crc32c_of(const byte *p, size_t n) {
  return ~(__builtin_cpu_supports("sse4.2") ? crc32c_words(~0u, p, n) : crc_bytes(crc32c_table, ~0u, p, n));
}
#else
static uint32_t crc32_of(uint32_t crc, const byte *p, size_t n) { return ~crc_bytes(crc_table, ~crc, p, n); }

static uint32_t crc32c_of(const byte *p, size_t n) { return ~crc_bytes(crc32c_table, ~0u, p, n); }
#endif

/* --- snappy */

/* Reads the size at the start of a block into *size, and returns its end; NULL if it is none of at most FRAME. */
static const byte *block_size(const byte *p, const byte *end, size_t *size) {
  *size = 0;
  for (int shift = 0; shift < 21 && p < end; shift += 7) {
    *size |= (size_t)(*p & 127) << shift;
    if (*p++ < 128) return *size <= FRAME ? p : NULL;
  }
  return NULL;
}

/* Copies size bytes that begin offset bytes back, 16 at a time where they do not overlap. It may fill 15 bytes more. */
static void copy_back(byte *out, size_t offset, size_t size) {
  if (offset >= 16)
    for (size_t i = 0; i < size; i += 16) memcpy(out + i, out + i - offset, 16);
  else
    for (size_t i = 0; i < size; i++) out[i] = out[i - offset];
}

/* Decodes the elements of a block, which must fill out up to limit exactly. It may fill SLACK bytes behind limit. */
static int unsnap(const byte *p, const byte *end, byte *out, byte *limit) {
  byte *start = out;
  while (p < end) {
    byte tag = *p++;
    size_t size, offset;
    /* The usual elements, far from the ends. A processor predicts badly of which kind the next one is. */
    while (end - p >= 32 && limit - out >= 64) {
      size = tag >> 2;
      if ((tag & 3) == 0) {
        if (size >= 16) break;
        memcpy(out, p, 16);
        p += size + 1;
        out += size + 1;
      } else {
        size_t near = (tag & 3) == 1, word = p[0] | p[1] << 8;
        if ((tag & 3) == 3) break;
        offset = near ? (size_t)(tag & 0xE0) << 3 | (word & 0xFF) : word;
        size = near ? (size & 7) + 4 : size + 1;
        if (offset == 0 || offset > (size_t)(out - start)) return 0;
        p += 2 - near;
        copy_back(out, offset, size);
        out += size;
      }
      tag = *p++;
    }
    if ((tag & 3) == 0) {
      size = (tag >> 2) + 1;
      if (size > 60) {
        size_t width = size - 60, value = 0;
        if ((size_t)(end - p) < width) return 0;
        for (size_t i = 0; i < width; i++) value |= (size_t)p[i] << 8 * i;
        p += width;
        size = value + 1;
      }
      if (size > (size_t)(end - p) || size > (size_t)(limit - out)) return 0;
      memcpy(out, p, size);
      p += size;
      out += size;
      continue;
    }
    size_t width = (tag & 3) == 3 ? 4 : tag & 3;
    if ((size_t)(end - p) < width) return 0;
    offset = p[0];
    for (size_t i = 1; i < width; i++) offset |= (size_t)p[i] << 8 * i;
    size = (tag >> 2) + 1;
    if (width == 1) {
      offset |= (size_t)(tag & 0xE0) << 3;
      size = (tag >> 2 & 7) + 4;
    }
    p += width;
    if (offset == 0 || offset > (size_t)(out - start) || size > (size_t)(limit - out)) return 0;
    copy_back(out, offset, size);
    out += size;
  }
  return out == limit;
}

/* --- chunks */

typedef struct {
  PyObject_HEAD
  byte *data;       /* decompressed */
  size_t size, room;
  uint32_t *ends;   /* of the records in data, each of which has its length before it */
  size_t count, spots;
  int busy;         /* a function works with the memory: no other may */
} Chunk;

static int reserve(Chunk *c, size_t size) {
  if (size <= c->room && c->data != NULL) return 1;
  if (size > MAX_CHUNK) return 0;
  size_t room = size < MAX_CHUNK / 2 && size < 2 * c->room ? 2 * c->room : size;
  byte *data = realloc(c->data, room + SLACK);
  if (data == NULL) return 0;
  c->data = data;
  c->room = room;
  return 1;
}

typedef struct {
  int fd;             /* or -1: */
  const byte *bytes;
  size_t left;        /* of bytes */
  off_t at;           /* in the file */
  int error;
} Source;

/* Reads size bytes. Returns 0 after an error, or if there are fewer. */
static int fill(Source *s, byte *to, size_t size) {
  if (s->fd < 0) {
    if (size > s->left) return 0;
    memcpy(to, s->bytes, size);
    s->bytes += size;
    s->left -= size;
    return 1;
  }
  while (size > 0) {
    ssize_t n = pread(s->fd, to, size, s->at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) s->error = errno;
    if (n <= 0) return 0;
    to += n;
    s->at += n;
    size -= n;
  }
  return 1;
}

static int load_plain(Chunk *c, Source *s, size_t size, uint32_t *crc) {
  if (!reserve(c, size)) return 0;
  while (c->size < size) {
    size_t n = size - c->size < PIECE ? size - c->size : PIECE;
    if (!fill(s, c->data + c->size, n)) return 0;
    *crc = crc32_of(*crc, c->data + c->size, n);
    c->size += n;
  }
  return 1;
}

/* Finds the data of the frame at p, whose content has n bytes: its size, and the start of a block that is compressed.
   Returns 0 if the frame is none that is usual. */
static int frame_size(const byte *p, size_t n, size_t *size, const byte **block) {
  *size = 0;
  *block = NULL;
  if (p[0] == 0xFF) return n == 6 && memcmp(p + 4, "sNaPpY", 6) == 0;
  if (p[0] >= 0x80) return 1;
  if (p[0] > 1 || n < 4) return 0;
  if (p[0] == 0) return (*block = block_size(p + 8, p + 4 + n, size)) != NULL;
  *size = n - 4;
  return *size <= FRAME;
}

/* Writes the data of a frame of which frame_size has found size and block. */
static int frame_data(const byte *p, size_t n, size_t size, const byte *block, byte *out) {
  if (block != NULL) return unsnap(block, p + 4 + n, out, out + size);
  memcpy(out, p + 8, size);
  return 1;
}

static int add_frame(Chunk *c, const byte *p, size_t n) {
  const byte *block;
  size_t size, at = c->size;
  if (!frame_size(p, n, &size, &block) || !reserve(c, at + size)) return 0;
  c->size += size;
  return frame_data(p, n, size, block, c->data + at);
}

static int load_snappy(Chunk *c, Source *s, size_t size, uint32_t *crc) {
  byte *piece = malloc(PIECE);
  size_t from = 0, to = 0;
  int good = piece != NULL, begun = 0;
  while (good && (size > 0 || from < to)) {
    size_t n = size, before;
    memmove(piece, piece + from, to - from);
    to -= from;
    from = 0;
    if (n > PIECE - to) n = PIECE - to;
    good = fill(s, piece + to, n);
    if (!good) break;
    *crc = crc32_of(*crc, piece + to, n);
    size -= n;
    to += n;
    if (!begun) good = begun = to >= 10 && memcmp(piece, "\xff\x06\0\0sNaPpY", 10) == 0;
    for (before = from; good && to - from >= 4; from += 4 + n) {
      n = little(piece + from) >> 8;
      if (to - from - 4 < n) break;
      good = add_frame(c, piece + from, n);
    }
    if (from == before) good = 0; /* a frame is cut off, or too large */
  }
  free(piece);
  return good;
}

/* Finds the ends of count records, which must fill the data. */
static int locate(Chunk *c, size_t count) {
  size_t at = 0;
  if (count > c->size / 4) return 0;
  if (count > c->spots) {
    uint32_t *ends = realloc(c->ends, count * sizeof *ends);
    if (ends == NULL) return 0;
    c->ends = ends;
    c->spots = count;
  }
  for (size_t i = 0; i < count; i++) {
    if (c->size - at < 4) return 0;
    size_t n = little(c->data + at);
    at += 4;
    if (n > c->size - at) return 0;
    at += n;
    c->ends[i] = (uint32_t)at;
  }
  c->count = count;
  return at == c->size;
}

static int load_chunk(Chunk *c, Source *s, const byte *want) {
  byte header[HEADER];
  uint32_t crc = 0, compressor = little(want + 8);
  c->size = c->count = 0;
  if (!fill(s, header, HEADER) || memcmp(header, want, HEADER) != 0) return 0;
  size_t size = little(want + 12);
  if (size > MAX_CHUNK || compressor > SNAPPY) return 0;
  if (!(compressor == NONE ? load_plain : load_snappy)(c, s, size, &crc)) return 0;
  return crc == little(want + 4) && locate(c, little(want + 16));
}

static int begin(Chunk *c) {
  if (c->busy) PyErr_SetString(PyExc_RuntimeError, "the chunk is in use");
  return c->busy ? 0 : (c->busy = 1);
}

static PyObject *chunk_load(PyObject *self, PyObject *args) {
  Chunk *c = (Chunk *)self;
  PyObject *source;
  const char *header;
  Py_ssize_t size;
  long long offset = 0;
  Source s = {-1, NULL, 0, 0, 0};
  if (!PyArg_ParseTuple(args, "Oy#|L", &source, &header, &size, &offset)) return NULL;
  if (size != HEADER) return PyErr_Format(PyExc_ValueError, "a header of %zd bytes", size);
  if (PyBytes_Check(source)) {
    s.bytes = (const byte *)PyBytes_AsString(source);
    s.left = (size_t)PyBytes_Size(source);
  } else if ((s.fd = (int)PyLong_AsLong(source)) < 0) {
    return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "a negative file descriptor");
  }
  s.at = (off_t)offset;
  if (!begin(c)) return NULL;
  int good;
  Py_BEGIN_ALLOW_THREADS
  good = load_chunk(c, &s, (const byte *)header);
  Py_END_ALLOW_THREADS
  c->busy = 0;
  if (!good) c->size = c->count = 0;
  if (s.error) {
    errno = s.error;
    return PyErr_SetFromErrno(PyExc_OSError);
  }
  return PyBool_FromLong(good);
}

/* Points to record i, and returns its size. */
static size_t record(const Chunk *c, size_t i, const byte **p) {
  size_t start = (i == 0 ? 0 : c->ends[i - 1]) + 4;
  *p = c->data + start;
  return c->ends[i] - start;
}

/* Record numbers, as the bytes of an array of int64; None means all. */
typedef struct {
  const char *p;
  size_t count;
} Numbers;

static int numbers_of(const Chunk *c, PyObject *of, Numbers *n) {
  n->p = NULL;
  n->count = c->count;
  if (of == Py_None) return 1;
  if ((n->p = PyBytes_AsString(of)) == NULL) return 0;
  n->count = (size_t)PyBytes_Size(of) / 8;
  for (size_t i = 0; i < n->count; i++) {
    uint64_t k;
    memcpy(&k, n->p + 8 * i, 8);
    if (k < c->count) continue;
    PyErr_SetString(PyExc_IndexError, "no record of the chunk has that number");
    return 0;
  }
  return 1;
}

static size_t number(const Numbers *n, size_t i) {
  uint64_t k = i;
  if (n->p != NULL) memcpy(&k, n->p + 8 * i, 8);
  return (size_t)k;
}

static PyObject *chunk_records(PyObject *self, PyObject *arg) {
  Chunk *c = (Chunk *)self;
  Numbers numbers;
  if (!begin(c)) return NULL;
  PyObject *list = numbers_of(c, arg, &numbers) ? PyList_New((Py_ssize_t)numbers.count) : NULL;
  for (size_t i = 0; list != NULL && i < numbers.count; i++) {
    const byte *p;
    size_t size = record(c, number(&numbers, i), &p);
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)p, (Py_ssize_t)size);
    if (bytes == NULL)
      Py_CLEAR(list);
    else
      PyList_SetItem(list, (Py_ssize_t)i, bytes);
  }
  c->busy = 0;
  return list;
}

static PyObject *chunk_nbytes(PyObject *self, void *unused) {
  const Chunk *c = (Chunk *)self;
  return PyLong_FromSize_t(c->room + c->spots * sizeof *c->ends);
}

/* Decodes frames with size bytes of data, and compares their checksums. */
static int frames_data(const byte *p, const byte *end, byte *out, size_t size) {
  while (p < end) {
    const byte *block;
    size_t n, more;
    if (end - p < 4 || (n = little(p) >> 8) > (size_t)(end - p - 4)) return 0;
    if (!frame_size(p, n, &more, &block) || more > size || !frame_data(p, n, more, block, out)) return 0;
    if (p[0] < 0x80) {
      uint32_t crc = crc32c_of(out, more);
      if (little(p + 4) != (crc >> 15 | crc << 17) + 0xA282EAD8) return 0;
    }
    out += more;
    size -= more;
    p += 4 + n;
  }
  return size == 0;
}

static PyObject *unframe(PyObject *self, PyObject *args) {
  const char *stored;
  Py_ssize_t length, start, end, size;
  if (!PyArg_ParseTuple(args, "y#nnn", &stored, &length, &start, &end, &size)) return NULL;
  if (start < 0 || start > end || end > length || size < 0 || size > MAX_CHUNK) return constant(Py_None);
  PyObject *data = PyByteArray_FromStringAndSize(NULL, size + SLACK);
  if (data == NULL) return NULL;
  byte *out = (byte *)PyByteArray_AsString(data);
  int good;
  Py_BEGIN_ALLOW_THREADS
  good = frames_data((const byte *)stored + start, (const byte *)stored + end, out, (size_t)size);
  Py_END_ALLOW_THREADS
  if (good && PyByteArray_Resize(data, size) == 0) return data;
  Py_DECREF(data);
  return good ? NULL : constant(Py_None);
}

static void chunk_free(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  free(((Chunk *)self)->data);
  free(((Chunk *)self)->ends);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

/* --- MessagePack */

typedef struct {
  const byte *p, *end;
  PyObject *ndarray, *dtype_of; /* to make arrays of the maps of msgpack-numpy; or None */
  struct {
    PyObject *text;
    size_t size;
    byte bytes[KEY_BYTES];
  } keys[KEYS];
  PyObject *dtype, *shape;      /* of the array seen last */
  size_t array_bytes, head_size;
  byte head[HEAD_BYTES];        /* what is before its data */
} Parser;

/* A function that decodes returns NULL, often without an exception, for what Python is to decide. */
static PyObject *value(Parser *s, int depth);

static int take(Parser *s, size_t width, uint64_t *n) {
  if ((size_t)(s->end - s->p) < width) return 0;
  *n = 0;
  for (size_t i = 0; i < width; i++) *n = *n << 8 | *s->p++;
  return 1;
}

static const byte *skip(Parser *s, uint64_t size) {
  const byte *p = s->p;
  if ((uint64_t)(s->end - p) < size) return NULL;
  s->p += size;
  return p;
}

static PyObject *text(Parser *s, uint64_t size) {
  const byte *p = skip(s, size);
  return p == NULL ? NULL : PyUnicode_DecodeUTF8((const char *)p, (Py_ssize_t)size, NULL);
}

static PyObject *binary(Parser *s, uint64_t size) {
  const byte *p = skip(s, size);
  return p == NULL ? NULL : PyBytes_FromStringAndSize((const char *)p, (Py_ssize_t)size);
}

static PyObject *list(Parser *s, uint64_t count, int depth) {
  if (count > (uint64_t)(s->end - s->p)) return NULL;
  int prepared = count <= PREPARED;
  PyObject *made = PyList_New(prepared ? (Py_ssize_t)count : 0);
  for (uint64_t i = 0; made != NULL && i < count; i++) {
    PyObject *item = value(s, depth + 1);
    if (item == NULL) {
      Py_CLEAR(made);
    } else if (prepared) {
      PyList_SetItem(made, (Py_ssize_t)i, item);
    } else {
      if (PyList_Append(made, item) < 0) Py_CLEAR(made);
      Py_DECREF(item);
    }
  }
  return made;
}

/* Returns the text with these bytes. Most maps have the same keys. */
static PyObject *key(Parser *s, size_t size) {
  const byte *p = skip(s, size);
  uint32_t hash = (uint32_t)size;
  if (p == NULL) return NULL;
  if (size > KEY_BYTES) return PyUnicode_DecodeUTF8((const char *)p, (Py_ssize_t)size, NULL);
  for (size_t i = 0; i < size; i++) hash = (hash ^ p[i]) * 16777619;
  hash = (hash ^ hash >> 16) % KEYS;
  if (s->keys[hash].text == NULL || s->keys[hash].size != size || memcmp(s->keys[hash].bytes, p, size) != 0) {
    PyObject *made = PyUnicode_DecodeUTF8((const char *)p, (Py_ssize_t)size, NULL);
    if (made == NULL) return NULL;
    PyUnicode_InternInPlace(&made);
    Py_XDECREF(s->keys[hash].text);
    s->keys[hash].text = made;
    s->keys[hash].size = size;
    memcpy(s->keys[hash].bytes, p, size);
  }
  Py_INCREF(s->keys[hash].text);
  return s->keys[hash].text;
}

static int expect(Parser *s, const char *bytes, size_t size) {
  const byte *p = skip(s, size);
  return p != NULL && memcmp(p, bytes, size) == 0;
}

/* Reads dtype and shape of the array whose map begins at s->p, and remembers them with the bytes that state them. They
   are read at a depth at which map makes no array. */
static int array_head(Parser *s) {
  const byte *start = s->p;
  s->head_size = 0;
  Py_CLEAR(s->dtype);
  Py_CLEAR(s->shape);
  if (!expect(s, "\x85\xc4\x02nd\xc3\xc4\x04type", 12)) return 0;
  PyObject *type = value(s, DEPTH);
  if (type != NULL && PyUnicode_Check(type)) s->dtype = PyObject_CallFunctionObjArgs(s->dtype_of, type, NULL);
  Py_XDECREF(type);
  if (s->dtype == NULL || !expect(s, "\xc4\x04kind\xc4\x00\xc4\x05shape", 15)) return 0;
  PyObject *dims = value(s, DEPTH - 1), *item = PyObject_GetAttrString(s->dtype, "itemsize");
  uint64_t bytes = item == NULL ? 0 : PyLong_AsUnsignedLongLong(item);
  Py_XDECREF(item);
  if (dims != NULL && PyList_Check(dims)) s->shape = PyList_AsTuple(dims);
  Py_XDECREF(dims);
  for (Py_ssize_t i = 0; s->shape != NULL && i < PyTuple_Size(s->shape); i++) {
    PyObject *dim = PyTuple_GetItem(s->shape, i);
    uint64_t n = PyLong_CheckExact(dim) ? PyLong_AsUnsignedLongLong(dim) : 0;
    bytes = n == 0 || bytes > MAX_CHUNK / n ? 0 : bytes * n;
  }
  if (s->shape == NULL || bytes == 0 || PyErr_Occurred() || !expect(s, "\xc4\x04" "data", 6)) return 0;
  if (s->p - start > HEAD_BYTES) return 0;
  s->array_bytes = bytes;
  s->head_size = (size_t)(s->p - start);
  memcpy(s->head, start, s->head_size);
  return 1;
}

/* Returns the writable array whose map begins at s->p. */
static PyObject *array(Parser *s) {
  const byte *start = s->p, *p;
  uint64_t size;
  if (s->head_size > 0 && (size_t)(s->end - start) >= s->head_size && memcmp(start, s->head, s->head_size) == 0)
    s->p += s->head_size;
  else if (!array_head(s))
    return NULL;
  byte tag = s->p < s->end ? *s->p++ : 0;
  if (tag < 0xC4 || tag > 0xC6 || !take(s, (size_t)1 << (tag - 0xC4), &size)) return NULL;
  if (size != s->array_bytes || (p = skip(s, size)) == NULL) return NULL;
  PyObject *data = PyByteArray_FromStringAndSize((const char *)p, (Py_ssize_t)size);
  PyObject *made = data == NULL ? NULL : PyObject_CallFunctionObjArgs(s->ndarray, s->shape, s->dtype, data, NULL);
  Py_XDECREF(data);
  return made;
}

static int is_text(byte tag) { return (tag >= 0xA0 && tag < 0xC0) || tag == 0xD9; }

/* Reports whether a key with this tag is for Python: a map or a list, or bytes with a length that is longer than usual. */
static int is_unusual_key(byte tag) { return (tag >= 0x80 && tag < 0xA0) || tag == 0xC5 || tag == 0xC6; }

/* Decodes a map of count items, whose tag is just before s->p if it is one byte. */
static PyObject *map(Parser *s, uint64_t count, int depth) {
  if (count > (uint64_t)(s->end - s->p) / 2) return NULL;
  if (count == 5 && s->ndarray != Py_None && s->p[-1] == 0x85 && memcmp(s->p, "\xc4\x02nd", 4) == 0) {
    if (depth >= DEPTH - 1) return NULL; /* also an array in the type or shape of another */
    s->p--;
    return array(s);
  }
  PyObject *made = PyDict_New();
  for (uint64_t i = 0; made != NULL && i < count; i++) {
    PyObject *name = NULL, *item = NULL;
    byte tag = s->p < s->end ? *s->p : 0;
    if (is_text(tag)) {
      uint64_t size = tag & 31;
      s->p++;
      if (tag != 0xD9 || take(s, 1, &size)) name = key(s, size);
    } else if (tag == 0xC4 || (s->ndarray != Py_None && !is_unusual_key(tag))) {
      /* Without arrays, keys of other types are errors at first. */
      if (s->end - s->p < 4 || memcmp(s->p, "\xc4\x02nd", 4) != 0) name = value(s, depth + 1);
    }
    if (name != NULL) item = value(s, depth + 1);
    if (item == NULL || PyDict_SetItem(made, name, item) < 0) Py_CLEAR(made);
    Py_XDECREF(name);
    Py_XDECREF(item);
  }
  return made;
}

static PyObject *real(Parser *s, size_t width) {
  uint64_t n;
  if (!take(s, width, &n)) return NULL;
  if (width == 8) {
    double d;
    memcpy(&d, &n, 8);
    return PyFloat_FromDouble(d);
  }
  uint32_t half = (uint32_t)n;
  float f;
  memcpy(&f, &half, 4);
  return PyFloat_FromDouble(f);
}

static PyObject *whole(Parser *s, byte tag) {
  uint64_t n;
  size_t width = (size_t)1 << (tag & 3);
  if (!take(s, width, &n)) return NULL;
  if (tag < 0xD0) return PyLong_FromUnsignedLongLong(n);
  int unused = 64 - 8 * (int)width;
  return PyLong_FromLongLong((int64_t)(n << unused) >> unused);
}

static PyObject *value(Parser *s, int depth) {
  uint64_t n;
  if (s->p >= s->end || depth > DEPTH) return NULL;
  byte tag = *s->p++;
  if (tag < 0x80 || tag >= 0xE0) return PyLong_FromLong((int8_t)tag);
  if (tag < 0x90) return map(s, tag & 15, depth);
  if (tag < 0xA0) return list(s, tag & 15, depth);
  if (tag < 0xC0) return text(s, tag & 31);
  switch (tag) {
    case 0xC0: return constant(Py_None);
    case 0xC2: return constant(Py_False);
    case 0xC3: return constant(Py_True);
    case 0xC4: case 0xC5: case 0xC6: return take(s, (size_t)1 << (tag - 0xC4), &n) ? binary(s, n) : NULL;
    case 0xCA: return real(s, 4);
    case 0xCB: return real(s, 8);
    case 0xCC: case 0xCD: case 0xCE: case 0xCF: case 0xD0: case 0xD1: case 0xD2: case 0xD3: return whole(s, tag);
    case 0xD9: case 0xDA: case 0xDB: return take(s, (size_t)1 << (tag - 0xD9), &n) ? text(s, n) : NULL;
    case 0xDC: case 0xDD: return take(s, (size_t)2 << (tag - 0xDC), &n) ? list(s, n, depth) : NULL;
    case 0xDE: case 0xDF: return take(s, (size_t)2 << (tag - 0xDE), &n) ? map(s, n, depth) : NULL;
    default: return NULL; /* types of applications */
  }
}

static Parser *parser(PyObject *ndarray, PyObject *dtype_of) {
  Parser *s = PyMem_Calloc(1, sizeof *s);
  if (s == NULL) return (Parser *)PyErr_NoMemory();
  s->ndarray = ndarray;
  s->dtype_of = dtype_of;
  return s;
}

/* Decodes one record into list[i]. */
static int decode(Parser *s, PyObject *list, size_t i, const byte *p, size_t size) {
  s->p = p;
  s->end = p + size;
  PyObject *made = value(s, 0);
  if (made != NULL && s->p != s->end) Py_CLEAR(made);
  return made != NULL && PyList_SetItem(list, (Py_ssize_t)i, made) == 0;
}

/* Returns list if all its records were decoded. Otherwise None, or NULL if something else than the records failed. */
static PyObject *finish(Parser *s, PyObject *list, int good) {
  for (int i = 0; i < KEYS; i++) Py_XDECREF(s->keys[i].text);
  Py_XDECREF(s->dtype);
  Py_XDECREF(s->shape);
  PyMem_Free(s);
  if (good) return list;
  Py_XDECREF(list);
  if (PyErr_Occurred()) {
    if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError)) return NULL;
    PyErr_Clear();
  }
  return constant(Py_None);
}

static PyObject *chunk_values(PyObject *self, PyObject *args) {
  Chunk *c = (Chunk *)self;
  PyObject *of, *ndarray, *dtype_of;
  Numbers numbers;
  if (!PyArg_ParseTuple(args, "OOO", &of, &ndarray, &dtype_of) || !numbers_of(c, of, &numbers)) return NULL;
  Parser *s = parser(ndarray, dtype_of);
  if (s == NULL || !begin(c)) {
    PyMem_Free(s);
    return NULL;
  }
  PyObject *list = PyList_New((Py_ssize_t)numbers.count);
  int good = list != NULL;
  for (size_t i = 0; good && i < numbers.count; i++) {
    const byte *p;
    size_t size = record(c, number(&numbers, i), &p);
    good = decode(s, list, i, p, size);
  }
  c->busy = 0;
  return finish(s, list, good);
}

static PyObject *unpack(PyObject *self, PyObject *args) {
  PyObject *records, *ndarray, *dtype_of;
  if (!PyArg_ParseTuple(args, "O!OO", &PyList_Type, &records, &ndarray, &dtype_of)) return NULL;
  Parser *s = parser(ndarray, dtype_of);
  if (s == NULL) return NULL;
  PyObject *list = PyList_New(PyList_Size(records));
  int good = list != NULL;
  for (Py_ssize_t i = 0; good && i < PyList_Size(list); i++) {
    PyObject *item = PyList_GetItem(records, i); /* NULL if the list has become shorter */
    PyObject *bytes = item == NULL ? NULL : PyBytes_CheckExact(item) ? constant(item) : PyBytes_FromObject(item);
    good = bytes != NULL && decode(s, list, (size_t)i, (const byte *)PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes));
    Py_XDECREF(bytes);
  }
  return finish(s, list, good);
}

/* --- the module */

static PyMethodDef chunk_methods[] = {
    {"load", chunk_load, METH_VARARGS, "load(source, header, offset=0) reads a chunk from a file descriptor or bytes, and tells whether it could."},
    {"records", chunk_records, METH_O, "records(numbers) returns the records with these numbers, or all."},
    {"values", chunk_values, METH_VARARGS, "values(numbers, ndarray, dtype_of) decodes the records with these numbers, if it can."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef chunk_attributes[] = {{"nbytes", chunk_nbytes, NULL, "Bytes of memory.", NULL}, {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot chunk_slots[] = {
    {Py_tp_doc, "The decompressed data of a chunk, in memory that the next load uses again."},
    {Py_tp_methods, chunk_methods},
    {Py_tp_getset, chunk_attributes},
    {Py_tp_dealloc, chunk_free},
    {0, NULL},
};

static PyType_Spec chunk_spec = {"recordio.native.Chunk", sizeof(Chunk), 0, Py_TPFLAGS_DEFAULT, chunk_slots};

static int start(PyObject *module) {
  make_table(crc_table, 0xEDB88320);
  make_table(crc32c_table, 0x82F63B78);
  PyObject *type = PyType_FromSpec(&chunk_spec);
  if (type == NULL) return -1;
  int failed = PyModule_AddObjectRef(module, "Chunk", type);
  Py_DECREF(type);
  return failed;
}

static PyMethodDef functions[] = {
    {"unframe", unframe, METH_VARARGS, "unframe(stored, start, end, size) returns the data of frames of snappy, if their checksums are right."},
    {"unpack", unpack, METH_VARARGS, "unpack(records, ndarray, dtype_of) decodes MessagePack, if it can."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{Py_mod_exec, start}, {0, NULL}};

static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "recordio.native",
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit_native(void) { return PyModuleDef_Init(&module); }
