# A `command` scorer: one JSON request a line comes in, one JSON verdict a line goes out.
# It passes answers of at most 40 characters. Requests are canonical JSON, so the members
# stand in order: the answer comes first, the choices behind it. A verdict that names its key
# keeps the process: without it every answer starts another one.
while IFS= read -r line; do
  answer=${line#*\"answer\":\"}
  answer=${answer%%\",\"choices\":*}
  key=${line##*,\"key\":\"}
  key=${key%%\",\"messages\":*}
  passed=false
  [ ${#answer} -le 40 ] && passed=true
  printf '{"passed":%s,"explanation":"%s characters","key":"%s"}\n' "$passed" "${#answer}" "$key"
done
