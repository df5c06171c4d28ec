#!/bin/sh
# A resident handler in shell (plain protocol): counts the messages it gets, and goes on counting where the last
# holder of its key stopped.
count=$(cat "$TENURE_DIR/checkpoint" 2>/dev/null || echo 0)

save() {  # beside, then over: a checkpoint is whole or not there
  echo "$count" >"$TENURE_DIR/next" && mv "$TENURE_DIR/next" "$TENURE_DIR/checkpoint"
}
trap 'save; exit 0' TERM

echo "holding $TENURE_KEY in epoch $TENURE_EPOCH, from $count"
while read -r message; do
  count=$((count + 1))
  echo "message $count: $message"
  save
done
