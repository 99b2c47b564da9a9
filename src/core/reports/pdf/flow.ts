/**
 * Pages of a report, filled from top to bottom: headings, paragraphs, page breaks, and the tags of what is set (ISO
 * 14289-1). Everything is either in a tag or marked as an artifact.
 */
import type { Colors } from './colors.ts';
import type { Libraries, Pdf, Tag, TagOptions } from './library.ts';
import type { Face, Style, Typesetter } from './typesetter.ts';
import type { Formatter } from '../format.ts';

/** Points. */
export const margin = { left: 56, right: 56, top: 60, bottom: 64 };

export interface Entry {
  readonly level: 1 | 2;
  readonly title: string;
  readonly destination: string;
  readonly page: number;
}

interface TextOptions {
  readonly tag?: string;
  readonly x?: number;
  readonly width?: number;
  /** Space below, in points. */
  readonly after?: number;
  /** Times the size of the type. */
  readonly leading?: number;
  readonly maxLines?: number;
}

interface PdfSetup {
  readonly pdf: Pdf;
  readonly libraries: Libraries;
  readonly type: Typesetter;
  readonly colors: Colors;
  readonly format: Formatter;
  /** As pdfkit names it. */
  readonly size: string;
}

export class Flow {
  readonly pdf: Pdf;
  readonly libraries: Libraries;
  readonly type: Typesetter;
  readonly colors: Colors;
  readonly format: Formatter;
  readonly entries: Entry[] = [];
  readonly #root: Tag;
  /** The tag that takes what is set next. */
  #parent: Tag;
  #pages = 0;
  readonly #size: string;
  #layout: 'portrait' | 'landscape' = 'portrait';
  y = 0;

  constructor(setting: PdfSetup) {
    this.pdf = setting.pdf;
    this.libraries = setting.libraries;
    this.type = setting.type;
    this.colors = setting.colors;
    this.format = setting.format;
    this.#size = setting.size;
    this.#root = this.pdf.struct('Document');
    this.pdf.addStructure(this.#root);
    this.#parent = this.#root;
  }

  get left(): number {
    return margin.left;
  }
  get width(): number {
    return this.pdf.page.width - margin.left - margin.right;
  }
  get bottom(): number {
    return this.pdf.page.height - margin.bottom;
  }
  /** The number of the page, from 1. */
  get page(): number {
    return this.#pages;
  }

  newPage(): void {
    this.pdf.addPage({ size: this.#size, margin: 0, layout: this.#layout });
    this.#pages += 1;
    this.y = margin.top;
  }

  /** Turns the paper for what is set; before and after it a page begins. */
  landscape(fill: () => void): void {
    this.#layout = 'landscape';
    this.newPage();
    fill();
    this.#layout = 'portrait';
    // whatever comes next begins a page
    this.y = this.bottom;
  }

  /** Begins a page unless so many points are left on this one. */
  ensure(height: number): void {
    if (this.y + height > this.bottom) this.newPage();
  }

  style(face: Face, size: number, color: string = this.colors.text): Style {
    return { face, size, color };
  }

  /** Sets what `fill` sets as the children of a tag. */
  within(tag: string, fill: () => void, options: TagOptions = {}): void {
    const outer = this.#parent;
    this.#parent = this.pdf.struct(tag, options);
    outer.add(this.#parent);
    fill();
    this.#parent.end();
    this.#parent = outer;
  }

  /** A section of the document, apart from those before and after. */
  section(fill: () => void): void {
    this.#parent = this.#root;
    this.within('Sect', fill);
  }

  /** Opens a section now that is filled later, such as the contents. */
  laterSection(): (fill: () => void) => void {
    const section = this.pdf.struct('Sect');
    this.#root.add(section);
    return (fill) => {
      this.#parent = section;
      fill();
      section.end();
      this.#parent = this.#root;
    };
  }

  /** Draws content of one tag on this page. */
  tagged(tag: string, draw: () => void, options: TagOptions = {}): void {
    const element = this.pdf.struct(tag, options);
    this.#parent.add(element);
    element.add(draw);
    element.end();
  }

  /** Draws what says nothing: rules, backgrounds, page numbers. */
  artifact(draw: () => void, type: 'Layout' | 'Pagination' = 'Layout'): void {
    this.pdf.markContent('Artifact', { type });
    draw();
    this.pdf.endMarkedContent();
  }

  /** Draws a link to an entry's place. */
  link(
    entry: Entry,
    box: { readonly x: number; readonly y: number; readonly width: number; readonly height: number },
    draw: () => void,
  ): void {
    const element = this.pdf.struct('Link');
    this.#parent.add(element);
    element.add(draw);
    this.pdf.goTo(box.x, box.y, box.width, box.height, entry.destination, {
      structParent: element,
      Contents: new String(`Page ${entry.page}: ${entry.title}`),
    });
    element.end();
  }

  rule(
    y: number,
    options: {
      readonly color?: string;
      readonly width?: number;
      readonly x?: number;
      readonly length?: number;
    } = {},
  ): void {
    const x = options.x ?? this.left;
    this.artifact(() => {
      this.pdf
        .lineWidth(options.width ?? 0.5)
        .moveTo(x, y)
        .lineTo(x + (options.length ?? this.width), y)
        .stroke(options.color ?? this.colors.rule);
    });
  }

  /** Sets a text in lines, over pages where needed. */
  text(text: string, style: Style, options: TextOptions = {}): void {
    const x = options.x ?? this.left;
    const width = options.width ?? this.left + this.width - x;
    const height = style.size * (options.leading ?? 1.45);
    const lines = this.lines(text, style, width, options.maxLines);
    const element = this.pdf.struct(options.tag ?? 'P');
    this.#parent.add(element);
    for (let at = 0; at < lines.length;) {
      this.ensure(height);
      const fitting = Math.max(1, Math.floor((this.bottom - this.y) / height + 1e-6));
      // no single line alone at the top of the next page
      const count = lines.length - at - fitting === 1 && fitting > 2 ? fitting - 1 : fitting;
      const part = lines.slice(at, at + count);
      element.add(() => {
        part.forEach((line, index) => this.line(line, x, this.y + index * height, style));
      });
      this.y += part.length * height;
      at += part.length;
      if (at < lines.length) this.newPage();
    }
    element.end();
    this.y += options.after ?? 0;
  }

  /** The printable lines of a text. */
  lines(text: string, style: Style, width: number, maxLines = Infinity): string[] {
    const lines = this.type.wrap(this.type.printable(text, style.face), style, width);
    return lines.length <= maxLines
      ? lines
      : [...lines.slice(0, maxLines - 1), `${lines[maxLines - 1] ?? ''} …`];
  }

  /** Draws a printable line; `y` is the top of its line box. */
  line(line: string, x: number, y: number, style: Style): void {
    if (line === '') return;
    // a space at the end keeps the words of two lines apart for who reads the tags; a hash continues
    this.type.draw(style.face === 'mono' ? line : `${line} `, { x, y: y + style.size * 1.08 }, style);
  }

  /** Draws a printable line that ends at `right`. */
  lineTo(line: string, right: number, y: number, style: Style): void {
    this.line(line, right - this.type.width(line, style), y, style);
  }

  /** A heading with its place in the contents, the outline and the named destinations. */
  heading(level: 1 | 2, title: string, options: { readonly room?: number } = {}): void {
    const size = level === 1 ? 19 : 12.5;
    const style = this.style('bold', size, this.colors.heading);
    if (this.y > margin.top) this.y += level === 1 ? 22 : 14;
    this.ensure(size * 1.5 + (options.room ?? 70));
    const destination = `s${String(this.entries.length + 1).padStart(4, '0')}`;
    this.pdf.addNamedDestination(destination, 'XYZ', null, Math.max(0, this.y - 8), null);
    const shown = this.type.printable(title, 'bold').replaceAll('\n', ' ');
    this.entries.push({ level, title: shown, destination, page: this.page });
    this.text(shown, style, { tag: `H${level}`, leading: 1.25, after: level === 1 ? 10 : 5 });
  }
}
