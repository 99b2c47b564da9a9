/** pdfkit as one file, `dist/pdfkit.cjs`, which the command line and the worker share: it is 1.5 MB. */
export { default as PDFDocument } from 'pdfkit';
