/** Answers of other servers, which say how long they are only once they have ended. */

/** The body of an answer; an error where it is longer than `maxBytes`, without reading on. */
export async function boundedBody(response: Response, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk);
    size += chunk.length;
    // leaving the loop cancels the rest
    if (size > maxBytes) throw new Error(`${response.url}: expected at most ${maxBytes} bytes, got more`);
  }
  return Buffer.concat(chunks);
}
