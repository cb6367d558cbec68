// Those parts of Asio and Beast that are no templates, compiled here and
// nowhere else (BOOST_ASIO_SEPARATE_COMPILATION in CMakeLists.txt).
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
