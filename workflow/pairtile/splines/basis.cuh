// Which interval a scaled value lies in, 0 .. BINS - ORDER, and the ORDER basis functions that are not
// zero there (Cox-de Boor recursion, 0/0 = 0). knots: BINS + ORDER values.
__device__ __forceinline__ int spline_basis(double value, const double *knots, double *basis)
{
    // The last interval is closed, so that the maximum is not lost.
    const int first = min((int)floor(value), BINS - ORDER);
    const int span = first + ORDER - 1;
    double left[ORDER], right[ORDER];
    basis[0] = 1.0;
#pragma unroll
    for (int degree = 1; degree < ORDER; ++degree) {
        left[degree] = value - knots[span + 1 - degree];
        right[degree] = knots[span + degree] - value;
        double saved = 0.0;
#pragma unroll
        for (int r = 0; r < degree; ++r) {
            const double width = right[r + 1] + left[degree - r];
            const double part = width > 0.0 ? basis[r] / width : 0.0;
            basis[r] = saved + right[r + 1] * part;
            saved = left[degree - r] * part;
        }
        basis[degree] = saved;
    }
    return first;
}
