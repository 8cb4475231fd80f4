# Random and sequential writes, read back and compared by fio itself, through system calls and mappings.
size=$([ "$LONG" ] && echo 256m || echo 2m)
# A staged file is uploaded whole by each fsync.
[ "$STAGED" ] && [ "$LONG" ] && size=16m
for job in "rw=write bs=128k" "rw=randwrite bs=4k" "rw=randrw bs=16k fsync=32" "rw=randwrite bs=4k ioengine=mmap" "rw=write bs=64k numjobs=3"; do
  fio --name=verify --size="$size" --ioengine=psync --verify=crc32c --verify_fatal=1 --do_verify=1 --verify_state_save=0 --group_reporting --output-format=terse $(printf -- '--%s ' $job)
  rm -f verify.*
done
