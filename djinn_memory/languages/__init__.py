"""Languages: detection, stems, stop words, and scripts without spaces."""
