/**
 * Charts as vector paths (d3-shape): stacked bars, and lines. Each is a figure whose alternative text is the chart's own,
 * and the same text follows below it. Proven by `test/core/reports/pdf/render.test.ts`.
 */
import type { ReportChart } from '../model.ts';
import type { Flow } from './flow.ts';

const axisWidth = 40;
/** Title above the plot, and labels below it. */
export const chartFrame = 46;

export function setChart(flow: Flow, chart: ReportChart): void {
  setPlot(flow, chart, 150);
  flow.text(chart.text, flow.style('regular', 9, flow.colors.muted), { after: 12 });
}

/** The chart alone; its text is the alternative text of the figure. */
export function setPlot(flow: Flow, chart: ReportChart, plotHeight: number): void {
  const legendHeight = chart.series.length > 1 ? 16 : 0;
  const height = chartFrame + legendHeight + plotHeight;
  // with the first line below it
  flow.ensure(height + 30);
  const top = flow.y;
  const box = [flow.left, top, flow.left + flow.width, top + height] as const;
  const plot = new Plot(flow, chart, { top: top + 20 + legendHeight, height: plotHeight });
  flow.tagged('Figure', () => plot.draw(top), { alt: chart.text, bbox: box });
  flow.y += height;
}

class Plot {
  readonly #flow: Flow;
  readonly #chart: ReportChart;
  readonly #top: number;
  readonly #height: number;
  readonly #max: number;

  constructor(flow: Flow, chart: ReportChart, place: { readonly top: number; readonly height: number }) {
    this.#flow = flow;
    this.#chart = chart;
    this.#top = place.top;
    this.#height = place.height;
    this.#max = niceMaximum(chart);
  }

  get #left(): number {
    return this.#flow.left + axisWidth;
  }
  get #width(): number {
    return this.#flow.width - axisWidth;
  }
  get #step(): number {
    return this.#width / Math.max(1, this.#chart.labels.length);
  }
  #y(value: number): number {
    return this.#height - (Math.max(0, value) / this.#max) * this.#height;
  }
  #color(series: number): string {
    const { series: colors } = this.#flow.colors;
    return colors[series % colors.length] ?? '#000000';
  }

  draw(titleY: number): void {
    const { type } = this.#flow;
    const title = this.#flow.style('bold', 9.5);
    this.#flow.line(type.printable(this.#chart.title, 'bold'), this.#flow.left, titleY, title);
    if (this.#chart.series.length > 1) this.#legend(titleY + 18);
    this.#grid();
    const { pdf } = this.#flow;
    pdf.save().translate(this.#left, this.#top);
    if (this.#chart.kind === 'bars') this.#bars();
    else this.#lines();
    pdf.restore();
    this.#labels();
  }

  #legend(y: number): void {
    const { pdf, type } = this.#flow;
    const style = this.#flow.style('regular', 8, this.#flow.colors.muted);
    let x = this.#left;
    this.#chart.series.forEach(({ name }, at) => {
      const shown = type.printable(name, 'regular');
      pdf.rect(x, y + 2, 7, 7).fill(this.#color(at));
      this.#flow.line(shown, x + 11, y, style);
      x += 11 + type.width(shown, style) + 16;
    });
  }

  #grid(): void {
    const { pdf, colors, format } = this.#flow;
    const style = this.#flow.style('regular', 7, colors.muted);
    for (let tick = 0; tick <= 4; tick += 1) {
      const value = (this.#max * tick) / 4;
      const y = this.#top + this.#y(value);
      pdf
        .lineWidth(tick === 0 ? 0.8 : 0.35)
        .moveTo(this.#left, y)
        .lineTo(this.#left + this.#width, y)
        .stroke(tick === 0 ? colors.muted : colors.rule);
      this.#flow.lineTo(format.count(value), this.#left - 6, y - 5, style);
    }
  }

  #bars(): void {
    const { pdf, libraries } = this.#flow;
    const names = this.#chart.series.map((_, at) => String(at));
    const data = this.#chart.labels.map((_, at) =>
      Object.fromEntries(
        this.#chart.series.map(({ values }, series) => [String(series), Math.max(0, values[at] ?? 0)]),
      ),
    );
    const width = Math.min(this.#step * 0.62, 46);
    libraries.shapes
      .stack<Record<string, number>>()
      .keys(names)(data)
      .forEach((layer, series) => {
        layer.forEach(([from, to], at) => {
          const height = this.#y(from) - this.#y(to);
          if (height <= 0) return;
          pdf
            .rect(at * this.#step + (this.#step - width) / 2, this.#y(to), width, height)
            .fill(this.#color(series));
        });
      });
  }

  #lines(): void {
    const { pdf, libraries } = this.#flow;
    const line = libraries.shapes
      .line<number>()
      .x((_, at) => at * this.#step + this.#step / 2)
      .y((value) => this.#y(value));
    this.#chart.series.forEach(({ values }, series) => {
      const path = line([...values].slice(0, this.#chart.labels.length));
      if (path === null || path === '') return;
      pdf.lineWidth(1.6).lineCap('round').lineJoin('round').path(path).stroke(this.#color(series));
    });
    pdf.lineCap('butt').lineJoin('miter');
  }

  /** As many labels as fit, always the first. */
  #labels(): void {
    const { type } = this.#flow;
    const style = this.#flow.style('regular', 7, this.#flow.colors.muted);
    const shown = this.#chart.labels.map((label) => type.printable(label, 'regular').replaceAll('\n', ' '));
    const widest = Math.max(1, ...shown.map((label) => type.width(label, style)));
    const every = Math.max(1, Math.ceil((widest + 6) / this.#step));
    shown.forEach((label, at) => {
      if (at % every !== 0) return;
      const x = this.#left + at * this.#step + (this.#step - type.width(label, style)) / 2;
      this.#flow.line(label, Math.max(this.#flow.left, x), this.#top + this.#height + 5, style);
    });
  }
}

/** The end of the axis: 1, 2, 4, 6 or 8 times a power of ten, at least the largest bar or point. */
function niceMaximum({ kind, labels, series }: ReportChart): number {
  const sums = labels.map((_, at) => {
    const values = series.map(({ values: all }) => Math.max(0, all[at] ?? 0));
    return kind === 'bars' ? values.reduce((sum, value) => sum + value, 0) : Math.max(0, ...values);
  });
  const largest = Math.max(0, ...sums);
  if (largest === 0) return 4;
  const power = 10 ** Math.floor(Math.log10(largest));
  const factor = [1, 2, 4, 6, 8].find((each) => each * power >= largest) ?? 10;
  const nice = factor * power;
  // four steps of whole numbers: nobody counts 1.5 denials
  return sums.every(Number.isInteger) ? Math.ceil(nice / 4) * 4 : nice;
}
