import json

import recordio

from .files import InDirectory, records_chunk


class Payload(InDirectory):
    """The payload of samples is that of the manifest beside the files, and never guessed."""

    def dataset(self, name, payload, records):
        data = records_chunk(records)
        self.write(name + "-00000-of-00001", data)
        shards = [{"name": name + "-00000-of-00001", "records": len(records), "bytes": len(data)}]
        m = {"format": "paddle-dataset", "version": 1, "name": name, "records": len(records), "payload": payload, "shards": shards}
        self.write(".%s.manifest" % name, json.dumps(m).encode())

    def read(self, pattern, **more):
        return list(recordio.recordio_reader(self.dir + "/" + pattern, 1, 0, **more)())

    def test_payload(self):
        self.dataset("j", "json", [b"0", b"1", b"9", b"1.5"])
        self.dataset("m", "msgpack", [b"0", b"\x81\xa1a\x01"])
        self.dataset("j-x", "raw", [b"0"])
        self.assertEqual(self.read("j-0*"), [0, 1, 9, 1.5])
        self.assertEqual(self.read("m-*"), [48, {u"a": 1}])
        self.assertEqual(self.read("j-x*"), [b"0"])
        self.assertEqual(self.read("m-*", decode="raw"), [b"0", b"\x81\xa1a\x01"])
        with self.assertRaisesRegex(ValueError, "records of json and raw: read them one after the other"):
            self.read("j*")

    def test_another_size(self):
        self.dataset("j", "json", [b"0", b"1"])
        self.write("j-00000-of-00001", records_chunk([b"0"]))  # of another dataset
        with self.assertRaisesRegex(recordio.RecordIOError, "j-00000-of-00001: the file has 25 bytes, and the manifest states 30"):
            self.read("j-*")
        self.assertEqual(self.read("j-*", check=False), [0])

    def test_without_manifest(self):
        self.write("a", records_chunk([b"0", b"[1]"]))
        self.assertEqual(self.read("a"), [b"0", b"[1]"])

    def test_damaged_manifest(self):
        self.dataset("j", "json", [b"0"])
        for text in (b"", b"[]", b"{}", b"\xff", b'{"format": "paddle-dataset", "version": 2}', b"[" * 100000):
            self.write(".j.manifest", text)
            with self.assertRaisesRegex(ValueError, "j.manifest: not a manifest, or damaged"):
                self.read("j*")
