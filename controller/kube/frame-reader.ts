/** Cuts a stream of bytes into parts, independently of the chunks. */
export interface StreamReader {
  push(chunk: Buffer): void;
  /** Throws when bytes are left over, because the stream was cut. */
  end(): void;
}

const headerBytes = 4;

/** Frames of a protobuf watch: the length in four bytes, the highest first, then as many bytes. */
export function frameReader(onFrame: (frame: Buffer) => void, limit: number): StreamReader {
  let parts: Buffer[] = [];
  let length = 0;
  let needed = headerBytes;
  return {
    push(chunk) {
      parts.push(chunk);
      length += chunk.length;
      if (length < needed) return;
      const bytes = parts.length === 1 ? chunk : Buffer.concat(parts, length);
      let at = 0;
      for (;;) {
        needed = headerBytes;
        if (bytes.length - at < needed) break;
        needed += bytes.readUInt32BE(at);
        if (needed - headerBytes > limit) throw new Error(`a frame exceeds ${limit} bytes`);
        if (bytes.length - at < needed) break;
        onFrame(bytes.subarray(at + headerBytes, at + needed));
        at += needed;
      }
      const rest = bytes.subarray(at);
      parts = rest.length === 0 ? [] : [rest];
      length = rest.length;
    },
    end() {
      if (length > 0) throw new Error(`the stream was cut within a frame, after ${length} bytes of it`);
    },
  };
}
