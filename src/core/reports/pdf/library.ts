/** The libraries that set a report, loaded when the first report is rendered, and the parts of pdfkit used here. */

/** An element of the tree of tags (ISO 32000-1, 14.7). */
export interface Tag {
  add(child: Tag | (() => void)): Tag;
  end(): void;
}

export interface TagOptions {
  readonly alt?: string;
  readonly actual?: string;
  readonly scope?: 'Row' | 'Column';
  readonly bbox?: readonly [left: number, top: number, right: number, bottom: number];
}

/** The part of a pdfkit document that the renderer uses; its own types lack several of these members. */
export interface Pdf extends AsyncIterable<Uint8Array> {
  readonly page: { readonly width: number; readonly height: number };
  readonly info: Record<string, unknown>;
  readonly outline: { addItem(title: string, options?: { pageNumber?: number }): Pdf['outline'] };
  /** The font in use; the wrapped one is fontkit's, which knows what it can draw. */
  readonly _font: { readonly font: { hasGlyphForCodePoint(codePoint: number): boolean } };
  /** Writes document information as XMP. Replaced, because pdfkit does not escape it. */
  _addInfo(): void;
  appendXML(xml: string): void;
  registerFont(name: string, bytes: Uint8Array): Pdf;
  font(name: string): Pdf;
  fontSize(size: number): Pdf;
  fillColor(color: string): Pdf;
  strokeColor(color: string): Pdf;
  lineWidth(width: number): Pdf;
  lineCap(cap: 'butt' | 'round'): Pdf;
  lineJoin(join: 'miter' | 'round'): Pdf;
  widthOfString(text: string, options?: { features?: readonly string[] }): number;
  text(text: string, x: number, y: number, options: object): Pdf;
  rect(x: number, y: number, width: number, height: number): Pdf;
  moveTo(x: number, y: number): Pdf;
  lineTo(x: number, y: number): Pdf;
  path(svg: string): Pdf;
  fill(color?: string): Pdf;
  stroke(color?: string): Pdf;
  save(): Pdf;
  restore(): Pdf;
  translate(x: number, y: number): Pdf;
  image(bytes: Uint8Array, x: number, y: number, options: object): Pdf;
  addPage(options: object): Pdf;
  switchToPage(page: number): unknown;
  bufferedPageRange(): { readonly start: number; readonly count: number };
  addNamedDestination(name: string, ...at: unknown[]): void;
  goTo(x: number, y: number, width: number, height: number, name: string, options: object): Pdf;
  struct(type: string, options?: TagOptions): Tag;
  addStructure(tag: Tag): Pdf;
  markContent(tag: 'Artifact', options: { readonly type: 'Layout' | 'Pagination' }): Pdf;
  endMarkedContent(): Pdf;
  file(bytes: Uint8Array, options: object): unknown;
  end(): void;
}

/** Cost: about 100 ms the first time. */
export async function loadLibraries() {
  const [{ PDFDocument }, qr, shapes] = await Promise.all([
    import('./pdfkit.ts'),
    import('uqr'),
    import('d3-shape'),
  ]);
  // pdfkit's own types lack what is declared above
  return { createPdf: (options: object) => new PDFDocument(options) as unknown as Pdf, qr, shapes };
}

export type Libraries = Awaited<ReturnType<typeof loadLibraries>>;
