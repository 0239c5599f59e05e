// Columns as report/packed_columns.py packs them, and their numbers as report/formats.py writes them.
"use strict";
// The value of row k as a function of k; null where there is none.
function packedColumn(column) {
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
  if (column.decimals !== undefined) {
    const view = new DataView(bytes(column.decimals));
    return (k) => {
      const packed = view.getInt32(4 * k, true);
      const [mantissa, exponent] = [packed >> 10, (packed & 1023) - 512];
      // An exponent of 511 stands for what is missing or, read as a number, infinite.
      return mantissa === 0 && exponent === 511 ? null : Number(`${mantissa}e${exponent}`);
    };
  }
  const view = new DataView(bytes(column.codes));
  const code = column.values.length <= 256 ? (k) => view.getUint8(k) : (k) => view.getUint16(2 * k, true);
  return (k) => column.values[code(k)];
}
const writtenCount = new Intl.NumberFormat("en");
// As formats.number(value, 4, pad=True).
function writtenDecimal(value) {
  if (value === null) return "–";
  if (value === 0) return "0";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size >= 1e-3 && size < 1e4) {
    return value.toFixed(Math.max(0, 3 - Number(size.toExponential().split("e")[1])));
  }
  if (Number.isInteger(value) && size < 1e7) return writtenCount.format(value);
  return value.toExponential(3).replace("e+", "e");
}
